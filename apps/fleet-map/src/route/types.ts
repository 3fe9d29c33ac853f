import type { Quality } from '../api/types.ts'

type Spread = { p10: number | null; p50: number | null; p90: number | null }

/** The response of `POST /fleet/forecast`, limited to what this page reads. */
export type ForecastSegment = {
  fromM: number
  toM: number
  samples: number
  serviceRatio: number | null
  quality: Quality | null
  confidence: 'none' | 'low' | 'medium' | 'high'
  rsrpDbm: Spread | null
}

type OperatorSummary = { knownM: number; deadM: number; poorM: number; rsrpP50Dbm: number | null }

export type RouteForecast = {
  window: { from: string; to: string; limitedBy: string | null }
  lengthM: number
  segments: ForecastSegment[]
  summary: {
    knownM: number
    deadM: number
    poorM: number
    deadZones: { fromM: number; toM: number; lengthM: number }[]
    byPlmn: Record<string, OperatorSummary>
    recommendedPlmn: string | null
  }
}
