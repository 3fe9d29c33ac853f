/** The router model segment of the installation, a part of the paths of telemetry. */
export const modelSegment = process.env.ROUTERFLEET_MODEL_SEGMENT ?? 'router'
