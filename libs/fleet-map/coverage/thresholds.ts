import { qualities, qualityColors, signalThresholds } from '#telemetry/coverage/quality'

/**
 * What the classes of signal quality mean, for legends: the lowest value of poor, fair, good and excellent by metric, the
 * same by RAT, and a colour for each class.
 */
export const thresholds = {
  classes: qualities,
  rsrpDbm: signalThresholds.lte.rsrpDbm,
  sinrDb: signalThresholds.lte.sinrDb,
  rssiDbm: signalThresholds.gsm.rssiDbm,
  byRat: signalThresholds,
  colors: qualityColors,
}
