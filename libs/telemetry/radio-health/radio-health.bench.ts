/**
 * `node libs/telemetry/radio-health/radio-health.bench.ts [devices]`: CPU and memory for 30 days of 10,000 devices. Each is in
 * 1,000 shared cells on seven days, and parks in a depot with 500 others.
 */

import { createRadioComparison } from './radio-health.ts'

const devices = Number(process.argv[2] ?? 10_000)
const days = 30
const cellsPerDevice = 1_000
const devicesPerCell = 20
const hoursPerCell = 7
const depotDevices = 500
const depotHoursPerDay = 8
const weakShare = 0.02
const faultDb = 6
const fromHour = Date.UTC(2026, 0, 1) / 3_600_000
const window = { fromHour, toHour: fromHour + 24 * days }

let state = 1
/** A whole number below the limit. */
function draw(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}

/** A whole number of a part of those below the limit. Later parts have larger numbers. */
const drawPart = (limit: number, parts: number, part: number): number =>
  Math.floor((limit / parts) * part) + draw(Math.floor(limit / parts))

const rows = Math.max(devicesPerCell * hoursPerCell, depotDevices * depotHoursPerDay * days)
const columns = {
  length: 0,
  radios: new Uint32Array(rows),
  hours: new Uint32Array(rows),
  rsrpDbm: new Float32Array(rows),
}

function addRow(device: number, hour: number, levelDbm: number): void {
  const { length, radios, hours, rsrpDbm } = columns
  radios[length] = device
  hours[length] = fromHour + hour
  rsrpDbm[length] = levelDbm + draw(9) - 4 - (device < weakShare * devices ? faultDb : 0)
  columns.length++
}

const radios = Array.from({ length: devices }, (_, index) => ({
  deviceId: `device-${String(index).padStart(6, '0')}`,
  modem: null,
  model: `model-${index % 5}`,
}))
const startedAt = process.cpuUsage()
const cpuS = () => {
  const { user, system } = process.cpuUsage(startedAt)
  return ((user + system) / 1e6).toFixed(1)
}
const comparison = createRadioComparison(radios, window)
let medians = 0

for (let cell = 0; cell < (devices * cellsPerDevice) / devicesPerCell; cell++) {
  columns.length = 0
  const levelDbm = -110 + draw(40)
  // In order of radio and hour, as a batch of votes gives them.
  for (let member = 0; member < devicesPerCell; member++) {
    const device = drawPart(devices, devicesPerCell, member)
    for (let visit = 0; visit < hoursPerCell; visit++)
      addRow(device, drawPart(24 * days, hoursPerCell, visit), levelDbm)
  }
  medians += columns.length
  comparison.addCell(columns)
}
for (let first = 0; first + depotDevices <= devices; first += depotDevices) {
  columns.length = 0
  for (let member = 0; member < depotDevices; member++)
    for (let hour = 0; hour < depotHoursPerDay * days; hour++)
      addRow(first + member, Math.floor(hour / depotHoursPerDay) * 24 + (hour % depotHoursPerDay), -90)
  medians += columns.length
  comparison.addCell(columns)
}
console.log(`${devices} devices, ${medians} medians read: ${cpuS()} s of CPU`)
const found = comparison.healthOfAll()
const count = (status: string) => found.filter((radio) => radio.status === status).length
console.log(
  `health of all: ${cpuS()} s of CPU, at most ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB in memory`,
)
console.log(['fault', 'suspect', 'ok', 'unknown'].map((status) => `${status} ${count(status)}`).join(', '))
