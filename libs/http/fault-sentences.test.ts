import { expect, test } from 'vitest'
import { z } from 'zod'
import { faultSentence } from './fault-sentences.ts'

const sentencesOf = (schema: z.ZodType, value: unknown): string[] =>
  schema.safeParse(value, { error: faultSentence }).error?.issues.map(({ message }) => message) ?? []

test.each([
  [z.strictObject({ name: z.string() }), {}, 'A value is required.'],
  [z.string(), 5, 'Must be text.'],
  [z.string(), null, 'Must be text.'],
  [z.number(), '5', 'Must be a number.'],
  [z.int(), 5.5, 'Must be a whole number.'],
  [z.boolean(), 'yes', 'Must be true or false.'],
  [z.array(z.string()), 'a', 'Must be a list.'],
  [z.strictObject({}), [], 'Must be an object.'],
  [z.string().min(1), '', 'Must not be empty.'],
  [z.string().min(3), 'ab', 'Must have at least 3 characters.'],
  [z.string().max(2_000), 'x'.repeat(2_001), 'Must have at most 2,000 characters.'],
  [z.array(z.string()).min(1), [], 'Must have at least 1 entry.'],
  [z.array(z.string()).max(2), ['a', 'b', 'c'], 'Must have at most 2 entries.'],
  [z.number().min(5), 4, 'Must be at least 5.'],
  [z.number().max(5), 6, 'Must be at most 5.'],
  [z.number().gt(0), 0, 'Must be more than 0.'],
  [z.number().lt(180), 180, 'Must be less than 180.'],
  [z.number().multipleOf(5), 6, 'Must be a multiple of 5.'],
  [z.uuid(), 'x', 'Must be a UUID.'],
  [z.email(), 'x', 'Must be an e-mail address.'],
  [z.iso.datetime(), 'yesterday', 'Must be a time such as 2026-01-31T12:00:00Z.'],
  [z.string().regex(/^a$/), 'b', 'Has the wrong format.'],
  [z.enum(['reboot', 'firmware_update']), 'x', 'Must be one of reboot, firmware_update.'],
  [z.literal('csv'), 'x', 'Must be csv.'],
  [z.union([z.string(), z.number()]), true, 'Has none of the allowed forms.'],
])('%# a fault is a sentence', (schema, value, sentence) => {
  expect(sentencesOf(schema, value)).toEqual([sentence])
})

test('a schema that has its own words keeps them', () => {
  expect(sentencesOf(z.string().min(1, 'Choose a name.'), '')).toEqual(['Choose a name.'])
  expect(
    sentencesOf(
      z.number().refine((value) => value > 3, 'Too few.'),
      1,
    ),
  ).toEqual(['Too few.'])
})

test('a long list of choices is cut', () => {
  const many = Array.from({ length: 30 }, (_, index) => `kind${index}`)
  expect(sentencesOf(z.enum(many), 'x')[0]).toMatch(/kind19 and others\.$/)
})
