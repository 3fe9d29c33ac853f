import { useState } from 'preact/hooks'

type TypeEvent = { currentTarget: HTMLInputElement }

/**
 * The properties of a text field that applies what is typed with Enter or when it loses the focus. Until then the text stays,
 * also while the page is drawn again around it. `value`: the text that is applied.
 */
export function useTyped(value: string, onApply: (text: string) => void | Promise<void>) {
  const [typed, setTyped] = useState<string>()
  const apply = async (text: string) => {
    await onApply(text)
    // The reader may have typed on.
    setTyped((newest) => (newest === text ? undefined : newest))
  }
  return {
    value: typed ?? value,
    onInput: ({ currentTarget: { value: text } }: TypeEvent) => setTyped(text === value ? undefined : text),
    onChange: ({ currentTarget: { value: text } }: TypeEvent) => void apply(text),
  }
}
