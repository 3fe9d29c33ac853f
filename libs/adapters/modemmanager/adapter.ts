import { type Adapter, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { compileTable } from '../mapping.ts'
import { withStandalone5g } from '../openwisp/derived.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, envelopeOf, tooManySamples } from '../sample-set.ts'
import { modemManagerTable } from './table.ts'

const readModem = compileTable(modemManagerTable)

/** The output of `mmcli -J`, as scripts publish it. It has no time, so its time is that of receipt. */
export const modemmanager: Adapter = {
  source: 'modemmanager',
  path: '/adapters/modemmanager',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

function translate(body: Buffer): Translation {
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  if (!isRecord(parsed.value) || !isRecord(parsed.value.modem)) return refuse('The body must have the object `modem`.')
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const fields = readModem(withStandalone5g(parsed.value.modem), dropped)
  // A modem without a fix has an altitude at most.
  if (!fields.get('location')?.has('lat')) fields.delete('location')
  if (!addFields(set, fields, undefined, dropped)) return tooManySamples
  const translated = envelopeOf(set.samples())
  return translated.ok ? { ...translated, rejected: [], dropped: dropped.list() } : translated
}
