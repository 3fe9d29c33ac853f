import { useState } from 'preact/hooks'

/** Runs one action at a time and keeps the message of its failure. */
export function useAction() {
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string>()
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true)
    setFailure(undefined)
    try {
      await work()
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
    } finally {
      setBusy(false)
    }
  }
  return { busy, failure, run }
}
