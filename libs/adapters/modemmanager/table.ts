import { derived, digits, hexArea, hexDigits, number, registrationStates, text, words } from '../conversions.ts'
import type { MakerTable } from '../mapping.ts'
import { ratOfSignal } from '../openwisp/derived.ts'
import { modemIndex, newestTechnology, plmnOfLocation } from './derived.ts'

/** The object `modem` of `mmcli -J`, with any of its members. */
export const modemManagerTable: MakerTable = {
  title: 'The modem (the member `modem`)',
  at: 'modem',
  source: 'ModemManager: `mmcli -m N -J`, with `--signal-get` or `--location-get`',
  noValue: ['--', ''],
  mappings: [
    {
      from: 'dbus-path',
      to: ['cellular.modem', 'connection.modem'],
      as: derived('index: the last part of the path', modemIndex),
    },
    {
      from: 'generic.state',
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
        // The same states as numbers, as its D-Bus property has them.
        ...{ '-1': 'failed', 0: null, 1: 'disconnected', 2: 'failed', 3: 'disabled', 4: 'disabled', 5: 'disconnected' },
        ...{ 6: 'disconnected', 7: 'searching', 8: 'registered', 9: 'disconnected', 10: 'connecting', 11: 'connected' },
      }),
    },
    {
      from: 'generic.access-technologies',
      to: ['cellular.rat', 'connection.rat'],
      as: derived('the newest one: 5gnr with lte → nr-nsa, 5gnr alone → nr-sa', newestTechnology),
    },
    { from: 'generic.signal-quality.value', to: ['cellular.signalPercent'], as: number },
    { from: '3gpp.operator-code', to: ['cellular.plmn', 'connection.plmn'], as: digits },
    { from: '3gpp.operator-name', to: ['cellular.operatorName', 'connection.operatorName'], as: text },
    {
      from: '3gpp.registration-state',
      to: ['connection.registration'],
      as: words({
        home: 'home',
        roaming: 'roaming',
        searching: 'searching',
        denied: 'denied',
        idle: 'not_registered',
        unknown: 'unknown',
        'home-sms-only': 'home',
        'roaming-sms-only': 'roaming',
        'emergency-only': 'emergency_only',
        'home-csfb-not-preferred': 'home',
        'roaming-csfb-not-preferred': 'roaming',
        'attached-rlos': 'emergency_only',
        // The same states as numbers, as its D-Bus property has them.
        ...registrationStates,
      }),
    },
    {
      from: 'signal',
      to: ['cellular.rat'],
      as: derived('the technology that has values: lte with 5g → nr-nsa, 5g alone → nr-sa', ratOfSignal),
    },
    { from: 'signal.lte.rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'signal.lte.rsrp', to: ['cellular.rsrpDbm'], as: number },
    { from: 'signal.lte.rsrq', to: ['cellular.rsrqDb'], as: number },
    { from: 'signal.lte.snr', to: ['cellular.sinrDb'], as: number },
    { from: 'signal.5g.rsrp', to: ['cellular.nrRsrpDbm'], as: number },
    { from: 'signal.5g.rsrq', to: ['cellular.nrRsrqDb'], as: number },
    { from: 'signal.5g.snr', to: ['cellular.nrSinrDb'], as: number },
    { from: 'signal.5g-alone.rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'signal.5g-alone.rsrp', to: ['cellular.rsrpDbm'], as: number },
    { from: 'signal.5g-alone.rsrq', to: ['cellular.rsrqDb'], as: number },
    { from: 'signal.5g-alone.snr', to: ['cellular.sinrDb'], as: number },
    { from: 'signal.umts.rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'signal.gsm.rssi', to: ['cellular.rssiDbm'], as: number },
    {
      from: 'location.3gpp',
      to: ['cellular.plmn'],
      as: derived('`mcc` and `mnc`', plmnOfLocation),
    },
    { from: 'location.3gpp.cid', to: ['cellular.cellId'], as: hexDigits },
    { from: 'location.3gpp.tac', to: ['cellular.tac'], as: hexArea },
    { from: 'location.3gpp.lac', to: ['cellular.tac'], as: hexArea },
    { from: 'location.gps.latitude', to: ['location.lat'], as: number },
    { from: 'location.gps.longitude', to: ['location.lon'], as: number },
    { from: 'location.gps.altitude', to: ['location.altitudeM'], as: number },
  ],
}
