import { offsetText } from '#core/quantity-text'
import { get } from '../../api/client.ts'
import type { RadioHealth } from '../../api/schemas.ts'
import { ago, moment } from '../../components/format.ts'
import { comparedText, intervalText, radioStatusText } from '../../components/radio-text.ts'
import { useResource } from '../../components/resource.ts'
import { Fact, OfModem } from './device-facts.tsx'

/** The service compares at most once an hour. */
const everyMs = 600_000

/** How the modems of a device receive beside other routers. Shows nothing before the first comparison, or if the plan has none. */
export function DeviceRadio({ deviceId }: { deviceId: string }) {
  const health = useResource(
    `radio health ${deviceId}`,
    (signal) => get(`/devices/${deviceId}/radio-health`, { signal }),
    { everyMs },
  )
  const { radios = [], asOf } = health.value ?? {}
  if (radios.length === 0 || !asOf) return null
  return (
    <section class="card panel" aria-label="Radio health">
      <h2>Radio health</h2>
      <p class="label" title={moment(asOf)}>
        Compared with other routers {ago(asOf)}
      </p>
      {radios.map((radio) => (
        <RadioFacts key={radio.modem} radio={radio} />
      ))}
    </section>
  )
}

const RadioFacts = ({ radio }: { radio: RadioHealth }) => (
  <OfModem modem={radio.modem}>
    <Fact name="Status">{radioStatusText[radio.status]}</Fact>
    <Fact name="Offset">{offsetText(radio.offsetDb)}</Fact>
    <Fact name="95 % interval">{intervalText(radio)}</Fact>
    <Fact name="Compared with">{comparedText(radio)}</Fact>
    {radio.sinceAt === null ? null : <Fact name="Weak since">{radio.sinceAt.slice(0, 10)}</Fact>}
  </OfModem>
)
