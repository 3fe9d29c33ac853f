import type { Quality } from '../api/types.ts'

/** Colours of the quality classes; chosen to stay apart for colour-blind readers. */
export const qualityColors: Record<Quality, string> = {
  none: '#d7191c',
  poor: '#fdae61',
  fair: '#ffffbf',
  good: '#abd9e9',
  excellent: '#2c7bb6',
}

export const noServiceColor = '#8b939c'

export const qualities: Quality[] = ['none', 'poor', 'fair', 'good', 'excellent']

/** Worse classes come first: the index is what a cluster keeps the minimum of. Unknown counts as no worse than best. */
export const qualityRank = (quality: Quality | null): number => (quality === null ? 5 : qualities.indexOf(quality))

export const colorOf = (quality: Quality | null): string => (quality === null ? noServiceColor : qualityColors[quality])
