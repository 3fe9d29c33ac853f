/** Names the member of a request in words: "/rollout/stageWaitMinutes" is "Stage wait minutes". */
export function memberText(pointer: string): string {
  const name = pointer.split('/').findLast((part) => part !== '' && !/^\d+$/.test(part)) ?? ''
  const words = name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .replaceAll(/[_.-]+/g, ' ')
    .toLowerCase()
  return words === '' ? 'The request' : `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`
}

/** Makes a sentence of a detail: "must be an https address" begins and ends like one, and names have no backticks. */
export function sentenceText(detail: string): string {
  const text = detail.replaceAll('`', '').trim()
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}`
}

/** The message of a problem without the pointer that it begins with, which is no text for people. */
export function problemText(detail: string, fields: readonly { pointer: string; detail: string }[]): string {
  const [first] = fields
  if (!first || detail !== `${first.pointer || 'The body'}: ${first.detail}`) return detail
  return `${memberText(first.pointer)}: ${first.detail}`
}
