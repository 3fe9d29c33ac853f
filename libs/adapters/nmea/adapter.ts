import { type Adapter, type AdapterHead, type AdapterRejection, refuse, type Translation } from '../adapter.ts'
import { isPlausible } from '../clock.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { linesOf } from '../lines.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { factsOf } from './fields.ts'
import { createMoments, timesOf } from './moments.ts'
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

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const rejected: AdapterRejection[] = []
  const moments = createMoments()
  const lines = linesOf(body.toString('latin1'))
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim()
    if (line === '') continue
    const sentence = parseSentence(line)
    if (sentence === 'proprietary') {
      dropped.add('proprietary', 'unmapped')
      continue
    }
    if ('reason' in sentence) {
      rejected.push({ index, code: 'invalid_sample', detail: `Line ${index + 1}: ${sentence.reason}.` })
      if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
      continue
    }
    const facts = factsOf(sentence)
    if (!facts) dropped.add(sentence.type, 'unmapped')
    else moments.add(sentence.type, facts)
  }
  const times = timesOf(moments.list(), receivedAtMs)
  for (const [index, { sentences, midnightMs }] of moments.list().entries()) {
    const fields = readSentences(sentences, dropped)
    const location = fields.get('location')
    if (!location || !(location.has('lat') || location.get('fix') === 'none')) continue
    location.set('source', 'gnss')
    const hasFix = location.get('fix') !== 'none'
    const momentMs = times[index]
    // A receiver without a fix may not know the time.
    const isKnown = hasFix || (midnightMs !== undefined && isPlausible(momentMs ?? 0, receivedAtMs))
    const tsMs = isKnown ? momentMs : undefined
    if (hasFix && tsMs !== undefined) location.set('fixTs', tsMs)
    if (!addFields(set, fields, tsMs, dropped)) return tooManySamples
  }
  if (set.samples().length === 0 && rejected.length === 0 && dropped.total() === 0)
    return refuse('The body has no sentences.')
  return translationOf({ set, dropped, rejected, receivedAtMs })
}
