import { useState } from 'preact/hooks'
import css from './copy-text.module.css'

/** Shows text to copy, such as a key or a command, with a button that copies it. `label` names the text. */
export function CopyText({ label, text, multiline = false }: { label: string; text: string; multiline?: boolean }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setState('copied')
    } catch {
      // Without TLS, browsers offer no clipboard: select the text by hand.
      setState('failed')
    }
  }
  return (
    <div class={css.copyText}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a long line scrolls, also with the keyboard. */}
      <section aria-label={label} tabIndex={0}>
        <pre class={multiline ? css.multiline : ''}>{text}</pre>
      </section>
      <button type="button" class="button small" onClick={copy} aria-label={`Copy ${label.toLowerCase()}`}>
        {state === 'copied' ? 'Copied' : 'Copy'}
      </button>
      <span class="visually-hidden" role="status">
        {state === 'copied' ? 'Copied.' : ''}
      </span>
      {state === 'failed' ? <p class="hint">This browser cannot copy. Select the text and copy it.</p> : null}
    </div>
  )
}
