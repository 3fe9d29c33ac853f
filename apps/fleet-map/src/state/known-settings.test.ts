import { expect, test } from 'vitest'
import { labelOf, settingFaults } from './known-settings.ts'
import { settingValues } from './profile-settings.ts'

const short = { code: 'format', detail: 'A Wi-Fi password has 8 to 63 characters.' }

test.each([
  ['a short secret', { password: { $secret: 'seven77' } }, [{ pointer: 'settings/wifi/password', ...short }]],
  ['a short text', { wifiPassword: 'seven77' }, [{ pointer: 'settings/wifi/wifiPassword', ...short }]],
  ['an empty secret', { password: { $secret: '' } }, [{ pointer: 'settings/wifi/password', ...short }]],
  ['eight characters', { password: { $secret: 'eight888' } }, []],
  ['a key of 64 digits', { password: { $secret: 'a1'.repeat(32) } }, []],
  ['a secret that is set', { password: { $secret: { set: true } } }, []],
  ['a variable', { password: { $var: 'key' } }, []],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: how settings refer to a variable.
  ['a text with a variable', { password: { $secret: '${key}' } }, []],
  ['no password', { ssid: 'depot' }, []],
])('checks the Wi-Fi password: %s', (_, wifi, faults) => {
  expect(settingFaults({ wifi })).toEqual(faults)
})

test('settings are listed by their words: secrets, variables and lists are one value', () => {
  const secret = { $secret: { set: true, updatedAt: '2026-05-04T12:30:00.000Z' } }
  const settings = {
    wifi: { ssid: 'depot', wifiPassword: secret },
    dns: ['1.1.1.1'],
    vpn: { peer: { $var: 'peer' } },
    ntp: {},
  }
  expect(settingValues(settings).map(({ path, value }) => [labelOf(path) ?? path, value])).toEqual([
    ['Wi-Fi: Network name (SSID)', 'depot'],
    ['Wi-Fi: Password', secret],
    ['dns', ['1.1.1.1']],
    ['vpn.peer', { $var: 'peer' }],
    ['ntp', {}],
  ])
})
