import { get } from '../../api/client.ts'
import { ago, dataSize, measured } from '../../components/format.ts'
import { QualityLabel } from '../../components/labels.tsx'
import { useResource } from '../../components/resource.ts'
import { telemetryPath } from '../../state/history.ts'
import { operatorOf, type ReportedModem } from '../../state/modems.ts'
import css from './device.module.css'
import { Fact } from './device-facts.tsx'

/** The modems of a device side by side, with what they used in the last day. */
export function DeviceModems({ deviceId, modems }: { deviceId: string; modems: readonly ReportedModem[] }) {
  const used = useResource(
    `data use ${deviceId}`,
    (signal) => get(telemetryPath(deviceId, 'data-use'), { signal, query: { sinceMinutes: dayMinutes } }),
    { everyMs: 60_000 },
  )
  return (
    <section aria-label="Modems" class={css.modems}>
      {modems.map((modem) => {
        const own = used.value?.items.filter((item) => item.modem === modem.modem) ?? []
        return (
          <ModemCard
            key={modem.modem}
            modem={modem}
            rxBytes={sumOf(own.map(({ rxBytes }) => rxBytes))}
            txBytes={sumOf(own.map(({ txBytes }) => txBytes))}
          />
        )
      })}
    </section>
  )
}

const dayMinutes = 1_440

type Bytes = number | null

const sumOf = (values: readonly Bytes[]): Bytes =>
  values.reduce((sum, value) => (value === null ? sum : (sum ?? 0) + value), null)

function ModemCard({ modem: reported, rxBytes, txBytes }: { modem: ReportedModem; rxBytes: Bytes; txBytes: Bytes }) {
  const { modem, isActive, cellular, connection } = reported
  const times = [cellular?.ts, connection?.ts].filter((ts) => ts !== undefined).sort()
  return (
    <div class="card panel">
      <h2>
        {modem ?? 'Without a name'} {isActive ? <span class="chip">Active</span> : null}
      </h2>
      <QualityLabel quality={cellular?.quality ?? null} rat={cellular?.rat ?? null} />
      <dl class="facts">
        <Fact name="Operator">{operatorOf(reported) ?? '–'}</Fact>
        <Fact name="Radio">{cellular?.rat && cellular.rat !== 'none' ? cellular.rat.toUpperCase() : '–'}</Fact>
        <Fact name="RSRP">{measured(cellular?.rsrpDbm, 'dBm')}</Fact>
        <Fact name="SINR">{measured(cellular?.sinrDb, 'dB')}</Fact>
        <Fact name="Connection">
          <span class="capitalized">{connection?.state ?? '–'}</span>
        </Fact>
        <Fact name="Last report">{ago(times.at(-1) ?? null)}</Fact>
        <Fact name="Received, 24 h">{dataSize(rxBytes)}</Fact>
        <Fact name="Sent, 24 h">{dataSize(txBytes)}</Fact>
      </dl>
    </div>
  )
}
