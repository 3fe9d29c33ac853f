import { expect, test } from 'vitest'
import { mergePatch } from '../../apps/fleet-map/src/state/profile-settings.ts'

test.each(['constructor', 'toString', '__proto__'])(
  'a setting with the name %s is added, changed and removed',
  (name) => {
    const settings = (value: string) => JSON.parse(`{"${name}": ${value}}`)
    expect(Object.entries(mergePatch({}, settings('1')))).toEqual([[name, 1]])
    expect(Object.entries(mergePatch(settings('1'), settings('2')))).toEqual([[name, 2]])
    expect(Object.entries(mergePatch(settings('1'), {}))).toEqual([[name, null]])
    expect(Object.entries(mergePatch({}, settings('{"a": 1}')))).toEqual([[name, { a: 1 }]])
  },
)
