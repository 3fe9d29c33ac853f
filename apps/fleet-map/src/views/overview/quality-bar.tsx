import { qualityLabel } from '../../components/label-text.ts'
import css from './overview.module.css'
import { type ByQuality, percent, qualityOrder, shares } from './signal-shares.ts'

/** The shares of the signal classes as a bar, best first, with the same as a text. */
export function QualityBar({ byQuality }: { byQuality: ByQuality }) {
  const text = sharesText(byQuality)
  return (
    <div class={`bar ${css.qualityBar}`} role="img" aria-label={text} title={text}>
      {shares(byQuality).map(({ quality, share }) => (
        <span key={quality} style={{ width: `${share * 100}%`, background: `var(--quality-${quality})` }} />
      ))}
    </div>
  )
}

/** Returns the shares as "Excellent 40.0 %, Good 20.0 %, …". */
export const sharesText = (byQuality: ByQuality): string =>
  shares(byQuality)
    .map(({ quality, share }) => `${qualityLabel[quality]} ${percent(share)}`)
    .join(', ')

/** Explains the colours of the signal classes. */
export const QualityKey = () => (
  <ul class={css.qualityKey} aria-label="Signal classes">
    {qualityOrder.map((quality) => (
      <li key={quality}>
        <span class="swatch" style={{ background: `var(--quality-${quality})` }} /> {qualityLabel[quality]}
      </li>
    ))}
  </ul>
)
