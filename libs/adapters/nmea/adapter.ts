import { type Adapter, type AdapterHead, type AdapterRejection, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, envelopeOf, tooManySamples } from '../sample-set.ts'
import { nearestDay } from '../times.ts'
import { factsOf } from './fields.ts'
import { parseSentence } from './sentence.ts'
import { sentencesTable } from './table.ts'

const readSentences = compileTable(sentencesTable)
const maxRejected = 1_000

/** Sentences of a GNSS receiver, one a line. Those of one time are joined into one position. */
export const nmea: Adapter = {
  source: 'nmea',
  path: '/adapters/nmea',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

/** The sentences of one time of day. */
type Moment = { ofDayMs: number | undefined; sentences: Record<string, Record<string, string>> }

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const rejected: AdapterRejection[] = []
  const moments: Moment[] = []
  let midnightMs: number | undefined
  const lines = body.toString('latin1').split(/\r?\n/)
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim()
    if (line === '') continue
    const sentence = parseSentence(line)
    if ('reason' in sentence) {
      rejected.push({ index, code: 'invalid_sample', detail: `Line ${index + 1}: ${sentence.reason}.` })
      if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
      continue
    }
    const facts = factsOf(sentence)
    if (!facts) dropped.add(sentence.type, 'unmapped')
    else {
      midnightMs = facts.midnightMs ?? midnightMs
      const moment = momentOf(moments, facts.ofDayMs)
      const known = moment.sentences[sentence.type]
      // Of several constellations, the first sentence of a type has the position.
      if (!known && Object.keys(facts.fields).length > 0) moment.sentences[sentence.type] = facts.fields
    }
  }
  for (const { ofDayMs, sentences } of moments) {
    const fields = readSentences(sentences, dropped)
    const location = fields.get('location')
    if (!location || !(location.has('lat') || location.get('fix') === 'none')) continue
    location.set('source', 'gnss')
    // A receiver without a fix may not know the time.
    const hasFix = location.get('fix') !== 'none'
    const tsMs = hasFix && ofDayMs !== undefined ? timeOf(ofDayMs, midnightMs, receivedAtMs) : undefined
    if (tsMs !== undefined) location.set('fixTs', tsMs)
    if (!addFields(set, fields, tsMs, dropped)) return tooManySamples
  }
  if (set.samples().length === 0 && rejected.length === 0 && dropped.total() === 0)
    return refuse('The body has no sentences.')
  const translated = envelopeOf(set.samples())
  return translated.ok ? { ...translated, rejected, dropped: dropped.list() } : translated
}

/** Returns the moment of a time; a sentence without a time belongs to the last one. */
function momentOf(moments: Moment[], ofDayMs: number | undefined): Moment {
  const last = moments.at(-1)
  if (last && (ofDayMs === undefined || last.ofDayMs === undefined || last.ofDayMs === ofDayMs)) {
    last.ofDayMs ??= ofDayMs
    return last
  }
  const moment: Moment = { ofDayMs, sentences: {} }
  moments.push(moment)
  return moment
}

const timeOf = (ofDayMs: number, midnightMs: number | undefined, receivedAtMs: number): number =>
  midnightMs === undefined ? nearestDay(ofDayMs, receivedAtMs) : midnightMs + ofDayMs
