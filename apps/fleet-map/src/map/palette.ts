import type { Quality } from '../api/schemas.ts'

/** Colours of the quality classes, distinguishable for colour-blind readers. */
const qualityColors: Record<Quality, string> = {
  none: '#d7191c',
  poor: '#fdae61',
  fair: '#ffffbf',
  good: '#abd9e9',
  excellent: '#2c7bb6',
}

export const noServiceColor = '#8b939c'

export const qualities: Quality[] = ['none', 'poor', 'fair', 'good', 'excellent']

/** Returns a rank that is lower for worse classes, so that a cluster can keep the minimum. Unknown ranks best. */
export const qualityRank = (quality: Quality | null): number => (quality === null ? 5 : qualities.indexOf(quality))

export const colorOf = (quality: Quality | null): string => (quality === null ? noServiceColor : qualityColors[quality])
