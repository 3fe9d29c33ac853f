import { expect, it } from 'vitest'
import { drivesMissing } from '#test/drives'
import { forecastFigures, placedDrives } from '#test/forecast-drives'

/** Which drives are learned from, by their index; all others are forecast. */
const splits: Record<string, (index: number) => boolean> = {
  'every other drive, from the first': (index) => index % 2 === 0,
  'every other drive, from the second': (index) => index % 2 === 1,
  'first half': (index) => index < 4,
  'second half': (index) => index >= 4,
  'outer half': (index) => index < 2 || index >= 6,
  'inner half': (index) => index >= 2 && index < 6,
}

const round = (value: number) => Math.round(value * 100) / 100

it('forecasts real drives from others', ({ skip }) => {
  if (drivesMissing) return skip(drivesMissing)
  const drives = placedDrives()
  const bySplit = Object.entries(splits).map(([name, isLearned]) => {
    const learned = drives.filter((_, index) => isLearned(index))
    const asked = drives.filter((_, index) => !isLearned(index))
    return { name, figures: forecastFigures(learned, asked), anyPlace: forecastFigures(learned, asked, true) }
  })
  console.log('forecast of drives that were not learned from, mean error of byRat p50 in dB')
  console.table(
    Object.fromEntries(
      bySplit.map(({ name, figures, anyPlace }) => [
        name,
        {
          measurements: figures.measurements,
          forecast: round(figures.meanErrorDb),
          'inside p10–p90': round(figures.insideP10P90Share),
          'median of everything': round(figures.medianOfEverythingDb),
          'forecast, place uncertain too': round(anyPlace.meanErrorDb),
        },
      ]),
    ),
  )
  const measurementsIn = (rows: typeof bySplit) => rows.reduce((sum, { figures }) => sum + figures.measurements, 0)
  const meanErrorDb = (rows: typeof bySplit) =>
    rows.reduce((sum, { figures }) => sum + figures.meanErrorDb * figures.measurements, 0) / measurementsIn(rows)
  expect(measurementsIn(bySplit)).toBeGreaterThan(20_000)
  expect(meanErrorDb(bySplit)).toBeLessThanOrEqual(6)
  for (const { figures } of bySplit) {
    expect(figures.meanErrorDb).toBeLessThan(0.7 * figures.medianOfEverythingDb)
    expect(figures.insideP10P90Share).toBeGreaterThanOrEqual(0.7)
    expect(figures.insideP10P90Share).toBeLessThanOrEqual(0.92)
  }
  // Twofold cross-validation: each drive is forecast once, from the drives of the other half.
  expect(meanErrorDb(bySplit.slice(0, 2))).toBeLessThanOrEqual(6)
})
