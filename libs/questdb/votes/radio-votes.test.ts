import { expect, it } from 'vitest'
import { fieldsOf } from '#telemetry/report/fields'
import { servedRats } from './radio-votes.ts'

it('has a number for every RAT of a report', () => {
  const [, rat] = fieldsOf('cellular').find(([name]) => name === 'rat') ?? []
  const words = rat?.type === 'word' ? rat.words : []
  expect([...servedRats, 'none'].sort()).toEqual([...words].sort())
})
