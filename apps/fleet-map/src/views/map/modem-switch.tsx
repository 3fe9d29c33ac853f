import { QualityLabel } from '../../components/labels.tsx'
import { type Modem, operatorOf, type ReportedModem } from '../../state/modems.ts'
import { setParams } from '../../state/url.ts'
import css from './map.module.css'

type ModemSwitchProps = {
  modems: readonly Modem[]
  /** What the modems last reported, once it is known. */
  reported: readonly ReportedModem[]
  shown: Modem
  /** Whether the panel shows a moment in the past, for which the signal and the active modem of now mean nothing. */
  isPast: boolean
}

/** Switches the panel between the modems of its device. */
export const ModemSwitch = ({ modems, reported, shown, isPast }: ModemSwitchProps) => (
  <section>
    <fieldset class={`plain ${css.modems}`} aria-label="Modem">
      {modems.map((one) => (
        <button
          key={one.modem}
          type="button"
          class="button"
          aria-pressed={one === shown}
          onClick={() => setParams({ modem: one.isActive ? null : one.modem })}
        >
          <strong>{one.modem}</strong>
          {one.isActive && !isPast ? <span class="hint">Active</span> : null}
          <span class="label">{operatorIn(reported, one) ?? one.operatorName ?? one.plmn}</span>
          {isPast ? null : <QualityLabel quality={one.quality} rat={one.rat} />}
        </button>
      ))}
    </fieldset>
  </section>
)

function operatorIn(reported: readonly ReportedModem[], { modem }: Modem): string | undefined {
  const found = reported.find((one) => one.modem === modem)
  return found && operatorOf(found)
}
