/** A modem of a device. `model` is the router's model; radios of a model have a constant in common. */
export type Radio = { deviceId: string; modem: string | null; model: string | null }

/**
 * The radios by rank: in order of device and modem, so that nothing depends on the order in which they are given. `rankOf` has
 * the rank by index, `deviceOf` the number of the device by rank; devices are numbered in order.
 */
export type Roster = { radios: readonly Radio[]; rankOf: Uint32Array; deviceOf: Uint32Array; devices: number }

/** Compares texts by code unit, whatever the locale. Null is before every text. */
const byText = (a: string | null, b: string | null): number =>
  a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1

/** The order of radios: by device, then by modem. */
export const byRadio = (a: Pick<Radio, 'deviceId' | 'modem'>, b: Pick<Radio, 'deviceId' | 'modem'>): number =>
  byText(a.deviceId, b.deviceId) || byText(a.modem, b.modem)

/** Returns the roster of the given radios, each of them once. */
export function rosterOf(given: readonly Radio[]): Roster {
  const order = given.map((radio, index) => ({ radio, index })).sort((a, b) => byRadio(a.radio, b.radio))
  const rankOf = new Uint32Array(given.length)
  const deviceOf = new Uint32Array(given.length)
  let device = -1
  for (const [rank, { radio, index }] of order.entries()) {
    if (radio.deviceId !== order[rank - 1]?.radio.deviceId) device++
    rankOf[index] = rank
    deviceOf[rank] = device
  }
  return { radios: order.map(({ radio }) => radio), rankOf, deviceOf, devices: device + 1 }
}
