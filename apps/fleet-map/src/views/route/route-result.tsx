import { useMemo } from 'preact/hooks'
import type { RouteForecast } from '../../api/schemas.ts'
import { measured } from '../../components/format.ts'
import { kilometres, type LonLat, routeCutter } from '../../route/geometry.ts'
import css from './route.module.css'
import { RouteProfile } from './route-profile.tsx'

type RouteResultProps = {
  forecast: RouteForecast
  operators: readonly { plmn: string; name: string }[]
  lines: readonly LonLat[][]
  onShow: (path: readonly LonLat[]) => void
}

/** Shows a forecast: measured length, signal profile, dead zones and operators. */
export function RouteResult({ forecast, operators, lines, onShow }: RouteResultProps) {
  const { summary, lengthM, segments, stretches, window } = forecast
  const { knownM, deadM, poorM, deadZones } = summary
  const nameOf = useMemo(() => {
    const names = new Map(operators.map(({ plmn, name }) => [plmn, name]))
    return (plmn: string) => names.get(plmn) || plmn
  }, [operators])
  if (knownM === 0) {
    return <p class="panel-note">No measurements along this route. Choose a longer time range or another route.</p>
  }
  return (
    <>
      <section>
        <dl class={`facts ${css.routeFacts}`}>
          <Fact title="Measured" metres={knownM} ofM={lengthM} />
          <Fact title="Dead zones" metres={deadM} ofM={lengthM} />
          <Fact title="Poor signal" metres={poorM} ofM={lengthM} />
        </dl>
        {window.limitedBy === 'plan' ? <p class="label">Your plan limits how far back the forecast looks.</p> : null}
        <RouteProfile segments={segments} stretches={stretches} lengthM={lengthM} deadZones={deadZones} />
        <RouteLegend />
      </section>
      <section>
        <h3>Dead zones</h3>
        {deadZones.length === 0 ? (
          <p class="label">No dead zones on the measured part of the route.</p>
        ) : (
          <ol class={`ranking ${css.inset}`}>
            {deadZones.map(({ fromM, toM, lengthM: zoneM }, index) => (
              <li key={fromM}>
                <button type="button" onClick={() => onShow(routeCutter(lines)(fromM, toM))}>
                  <span class={css.routeNumber}>{index + 1}</span>
                  <span>
                    <strong>At {kilometres(fromM)}</strong>
                    <span class="hint">{kilometres(zoneM)} without usable service</span>
                  </span>
                </button>
              </li>
            ))}
          </ol>
        )}
      </section>
      <Operators summary={summary} nameOf={nameOf} />
    </>
  )
}

const Fact = ({ title, metres, ofM }: { title: string; metres: number; ofM: number }) => (
  <div>
    <dt>{title}</dt>
    <dd>
      {kilometres(metres)} <span class="hint">{Math.round((metres / ofM) * 100)} %</span>
    </dd>
  </div>
)

const looks = [
  ['excellent', 'Excellent'],
  ['good', 'Good'],
  ['fair', 'Fair'],
  ['poor', 'Poor'],
] as const

const RouteLegend = () => (
  <ul class={css.routeLegend}>
    {looks.map(([quality, label]) => (
      <li key={quality}>
        <span class={css.routeLine} style={{ background: `var(--quality-${quality})` }} /> {label}
      </li>
    ))}
    <li>
      <span class={`${css.routeLine} ${css.dead}`} /> Dead zone
    </li>
    <li>
      <span class={`${css.routeLine} ${css.unknown}`} /> No measurements
    </li>
  </ul>
)

function Operators({
  summary: { byPlmn, recommendedPlmn },
  nameOf,
}: {
  summary: RouteForecast['summary']
  nameOf: (plmn: string) => string
}) {
  const rows = Object.entries(byPlmn).sort(
    ([a, one], [b, other]) =>
      Number(b === recommendedPlmn) - Number(a === recommendedPlmn) || other.knownM - one.knownM,
  )
  if (rows.length === 0) return null
  return (
    <section>
      <h3>Operators</h3>
      <table class={`table ${css.routeOperators}`}>
        <caption class="visually-hidden">Operators along the route</caption>
        <thead>
          <tr>
            <th scope="col">Operator</th>
            <th scope="col" class="number">
              Measured
            </th>
            <th scope="col" class="number">
              Dead
            </th>
            <th scope="col" class="number">
              Poor
            </th>
            <th scope="col" class="number">
              RSRP
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([plmn, { knownM, deadM, poorM, rsrpP50Dbm }]) => (
            <tr key={plmn}>
              <th scope="row">
                {nameOf(plmn)} {nameOf(plmn) === plmn ? null : <span class="hint">{plmn}</span>}
                {plmn === recommendedPlmn ? <span class={css.recommended}>Recommended</span> : null}
              </th>
              <td class="number">{kilometres(knownM)}</td>
              <td class="number">{kilometres(deadM)}</td>
              <td class="number">{kilometres(poorM)}</td>
              <td class="number">{measured(rsrpP50Dbm, 'dBm')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
