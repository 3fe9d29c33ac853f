import { useId, useState } from 'preact/hooks'
import { knownTags, readTags, useTags } from '../state/tags.ts'
import { useTyped } from './typed.ts'

type TagFilterProps = {
  /** '' for all organizations. */
  org: string
  value: string
  placeholder: string
  label?: string
  onChange: (tags: string) => void
}

/** A field for tags, separated by commas, that suggests those of the organization's devices, or of all. Upper and lower case are equal. */
export function TagFilter({ org, value, placeholder, label, onChange }: TagFilterProps) {
  const id = useId()
  const [isUsed, setUsed] = useState(false)
  const tags = useTags(isUsed ? org : null)
  const field = useTyped(value, async (typed) => onChange(knownTags(typed, await readTags(org))))
  return (
    <>
      <input
        class="input"
        list={id}
        aria-label={label}
        placeholder={placeholder}
        onFocus={() => setUsed(true)}
        {...field}
      />
      <datalist id={id}>
        {tags.map((tag) => (
          <option key={tag.value} value={tag.value} label={`${tag.devices} devices`} />
        ))}
      </datalist>
    </>
  )
}
