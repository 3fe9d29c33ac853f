import { get } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { useResource } from '../../components/resource.ts'
import type { ReportedModem } from '../../state/modems.ts'
import { holds } from '../../state/session.ts'
import { Fact, OfModem } from './device-facts.tsx'

type DeviceIdentityProps = { device: Device; modems: readonly ReportedModem[] }

/** The SIM of each modem, and the numbers by which networks know the device. Shows nothing while none of them is known. */
export function DeviceIdentity({ device: { id, organizationId }, modems }: DeviceIdentityProps) {
  const identifiers = useResource(`identifiers ${id}`, (signal) => get(`/devices/${id}/identifiers`, { signal }))
  const { imei = [], mac = [] } = identifiers.value ?? {}
  const sims = modems.map(simOf).filter(({ facts }) => facts.length > 0)
  if (sims.length + imei.length + mac.length === 0) return null
  return (
    <section class="card panel" aria-label="SIM and identifiers">
      <h2>SIM and identifiers</h2>
      {sims.map(({ modem, facts }) => (
        <OfModem key={modem} modem={modem}>
          {facts.map(([name, value]) => (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ))}
        </OfModem>
      ))}
      {imei.length + mac.length > 0 ? (
        <dl class="facts">
          {imei.length > 0 ? <Fact name="IMEI">{imei.join(', ')}</Fact> : null}
          {mac.length > 0 ? <Fact name="MAC address">{mac.join(', ')}</Fact> : null}
        </dl>
      ) : null}
      {sims.some(({ isMasked }) => isMasked) && !holds(organizationId, 'device:sensitive') ? (
        <p class="hint">Your role shows only the last digits of SIM numbers.</p>
      ) : null}
    </section>
  )
}

/** What a modem reported of its SIM, as names and values. */
function simOf({ modem, cellular, connection }: ReportedModem) {
  const simPlmn = connection?.simPlmn ?? cellular?.simPlmn
  const facts: [name: string, value: string | number | null | undefined][] = [
    ['ICCID', connection?.iccid],
    ['IMSI', connection?.imsi],
    ['SIM slot', connection?.simSlot],
    ['SIM operator code', simPlmn],
    ['APN', connection?.apn],
  ]
  const isMasked = Boolean(connection?.iccid ?? connection?.imsi)
  return { modem, isMasked, facts: facts.filter(([, value]) => value !== null && value !== undefined) }
}
