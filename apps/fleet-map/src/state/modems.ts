import type { FleetDevice, LatestTelemetry } from '../api/schemas.ts'

export type Modem = FleetDevice['modems'][number]

/** The modems that a person can choose from: none for a device with one. */
export function namedModems(device: Pick<FleetDevice, 'modems'> | undefined): Modem[] {
  const named = device?.modems.filter(({ modem }) => modem !== null) ?? []
  return named.length > 1 ? named : []
}

/** The chosen modem, or the active one. Undefined for a device with one modem. */
export function shownModem(device: Pick<FleetDevice, 'modems'> | undefined, chosen: string | null): Modem | undefined {
  const modems = namedModems(device)
  return modems.find(({ modem }) => modem === chosen) ?? modems.find(({ isActive }) => isActive) ?? modems[0]
}

export type ReportedModem = LatestTelemetry['modems'][number]

/** The operator that serves the modem, or that issued its SIM; undefined if neither is known. */
export function operatorOf({
  cellular,
  connection,
}: Pick<ReportedModem, 'cellular' | 'connection'>): string | undefined {
  const samples = [cellular, connection]
  const [serving] = samples.flatMap((sample) => sample?.operatorName ?? sample?.plmn ?? [])
  const [simPlmn] = samples.flatMap((sample) => sample?.simPlmn ?? [])
  return serving ?? (simPlmn ? `SIM of ${simPlmn}` : undefined)
}
