import { describe, expect, test } from 'vitest'
import { named } from '#postgres/named'

test('numbers the parameters in the order of their first use', () => {
  const statement =
    'SELECT * FROM job WHERE id = $id AND (kind = $kind OR $kind IS NULL) AND state = ANY ($states::text[])'
  expect(named(statement, { kind: undefined, states: ['queued'], id: 7 })).toEqual({
    text: 'SELECT * FROM job WHERE id = $1 AND (kind = $2 OR $2 IS NULL) AND state = ANY ($3::text[])',
    values: [7, undefined, ['queued']],
  })
})

test('uses the values of each call with the same statement', () => {
  expect(named('SELECT $a, $b', { a: 1, b: 2 }).values).toEqual([1, 2])
  expect(named('SELECT $a, $b', { b: 4, a: 3 }).values).toEqual([3, 4])
})

describe('a dollar sign is no parameter', () => {
  test.each([
    ['in a string', "SELECT 'costs $id', 'it''s $id', '$id'"],
    ['in a string with escapes', "SELECT E'a\\'$id'"],
    ['in a quoted name', 'SELECT "$id", "a""$id"'],
    ['in a dollar-quoted string', 'SELECT $$ $id $$, $body$ $id $$ $body$'],
    ['in a name', 'SELECT amount$id FROM t'],
    ['in a comment', 'SELECT 1 -- $id\n, 2 /* $id\n */'],
  ])('%s', (_, statement) => {
    expect(named(statement, {})).toEqual({ text: statement, values: [] })
    expect(named(`${statement}\n, $id`, { id: 1 })).toEqual({ text: `${statement}\n, $1`, values: [1] })
  })
})

test('throws for a parameter without a value, and for a value without a parameter', () => {
  expect(() => named('SELECT $id, $name, $kind', { name: 1 })).toThrow(
    'The statement has parameters without a value: id, kind.',
  )
  expect(() => named('SELECT $id', { id: 1, kind: 2, toString: 3 })).toThrow(
    'The statement has no parameters for the values: kind, toString.',
  )
  expect(() => named('SELECT $toString', {})).toThrow('The statement has parameters without a value: toString.')
  expect(() => named('SELECT $1', {})).toThrow('The statement has parameters without a value: 1.')
})
