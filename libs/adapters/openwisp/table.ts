import { derived, digits, modemName, number, text, unusable, words } from '../conversions.ts'
import { listOf } from '../json.ts'
import type { MakerTable } from '../mapping.ts'
import { firstAddress, ratOfSignal, usedDisk, usedMemory } from './derived.ts'

const source = 'NetJSON DeviceMonitoring, as written by openwrt-openwisp-monitoring (`netjson-monitoring`)'

/** mmcli prints `--` for a value that the modem does not report. */
const noValue = ['--', 'N/A', '']

/** The router itself: the members of the report beside `interfaces`. */
export const deviceTable: MakerTable = {
  title: 'The router',
  at: '',
  source,
  noValue,
  mappings: [
    { from: 'general.uptime', to: ['system.uptimeS'], as: number },
    {
      from: 'resources.load',
      to: ['system.load1'],
      as: derived('first of the three averages', (value) => number.read(listOf(value)[0])),
    },
    {
      from: 'resources.memory',
      to: ['system.memUsedPct'],
      as: derived('(total − available) / total, or (total − free) / total, in percent', usedMemory),
    },
    {
      from: 'resources.disk',
      to: ['system.diskUsedPct'],
      as: derived('`used_percent` of `/overlay`, else of `/`, else of the first disk', usedDisk),
    },
  ],
}

/** An element of `interfaces` with a modem. */
export const modemTable: MakerTable = {
  title: 'The interface of the modem (the element of `interfaces` with `mobile`)',
  at: 'interfaces',
  isListed: true,
  source,
  noValue,
  mappings: [
    { from: 'name', to: ['cellular.modem', 'connection.modem'], as: modemName },
    { from: 'name', to: ['connection.interface'], as: text },
    { from: 'statistics.rx_bytes', to: ['connection.rxBytes'], as: number },
    { from: 'statistics.tx_bytes', to: ['connection.txBytes'], as: number },
    {
      from: 'addresses',
      to: ['connection.wanIp'],
      as: derived('`address` of the first element that is not link-local', firstAddress),
    },
    {
      from: 'mobile.connection_status',
      to: ['connection.state'],
      as: words({
        connected: 'connected',
        connecting: 'connecting',
        disconnecting: 'disconnected',
        registered: 'registered',
        searching: 'searching',
        enabling: 'disconnected',
        enabled: 'disconnected',
        initializing: 'disconnected',
        disabling: 'disabled',
        disabled: 'disabled',
        locked: 'failed',
        failed: 'failed',
        unknown: null,
      }),
    },
    { from: 'mobile.operator_code', to: ['cellular.plmn', 'connection.plmn'], as: digits },
    { from: 'mobile.operator_name', to: ['cellular.operatorName', 'connection.operatorName'], as: text },
    {
      from: 'mobile.signal',
      to: ['cellular.rat', 'connection.rat'],
      as: derived('the technology that has values: lte with 5g → nr-nsa, 5g alone → nr-sa', ratOfSignal),
    },
    { from: 'mobile.signal.lte.rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'mobile.signal.lte.rsrp', to: ['cellular.rsrpDbm'], as: number },
    { from: 'mobile.signal.lte.rsrq', to: ['cellular.rsrqDb'], as: number },
    { from: 'mobile.signal.lte.snr', to: ['cellular.sinrDb'], as: number },
    { from: 'mobile.signal.5g.rsrp', to: ['cellular.nrRsrpDbm'], as: number },
    { from: 'mobile.signal.5g.rsrq', to: ['cellular.nrRsrqDb'], as: number },
    { from: 'mobile.signal.5g.snr', to: ['cellular.nrSinrDb'], as: number },
    { from: 'mobile.signal.5g-alone.rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'mobile.signal.5g-alone.rsrp', to: ['cellular.rsrpDbm'], as: number },
    { from: 'mobile.signal.5g-alone.rsrq', to: ['cellular.rsrqDb'], as: number },
    { from: 'mobile.signal.5g-alone.snr', to: ['cellular.sinrDb'], as: number },
    { from: 'mobile.signal.umts.rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'mobile.signal.gsm.rssi', to: ['cellular.rssiDbm'], as: number },
  ],
}

/** An element of `interfaces` without a modem. */
export const interfaceTable: MakerTable = {
  title: 'Other interfaces (elements of `interfaces` without `mobile`)',
  at: 'interfaces',
  isListed: true,
  source,
  noValue,
  mappings: [
    {
      from: 'wireless.clients',
      to: ['system.clients'],
      as: derived('number of elements, added up over all interfaces', (value) =>
        Array.isArray(value) ? value.length : unusable,
      ),
    },
  ],
}
