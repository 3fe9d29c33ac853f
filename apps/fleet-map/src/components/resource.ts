import { useCallback, useEffect, useState } from 'preact/hooks'
import type { ApiError } from '../api/client.ts'
import { type Outcome, type Read, readAgain } from './read-again.ts'

export type Resource<Value> = {
  value: Value | undefined
  error: ApiError | undefined
  loading: boolean
  reload: () => void
}

type ResourceOptions = {
  everyMs?: number
  /** Whether components with the same key share one value. They must read the same. */
  isShared?: boolean
}

/**
 * Reads a value whenever `key` changes, and again every `everyMs` (six times less often while the page is hidden). Keeps
 * the old value until the new one arrives, so that the page does not flicker. Tries again after errors that can pass.
 */
export function useResource<Value>(
  key: string,
  read: Read<Value>,
  { everyMs = 0, isShared = false }: ResourceOptions = {},
): Resource<Value> {
  const [state, setState] = useState<{ key: string; value?: Value; error?: ApiError }>({ key: '' })
  const [round, setRound] = useState(0)

  // `key` names everything that `read` depends on, so a new closure alone starts no read.
  useEffect(() => {
    const onOutcome = (outcome: Outcome<Value>) => {
      if ('value' in outcome) setState({ key, value: outcome.value })
      else setState((before) => (before.key === key ? { ...before, error: outcome.error } : { key, ...outcome }))
    }
    return isShared ? joinShared(key, read, everyMs, onOutcome) : readAgain(read, everyMs, onOutcome)
  }, [key, round, everyMs])

  const reload = useCallback(() => {
    if (isShared) sharedReads.get(key)?.restart()
    else setRound((before) => before + 1)
  }, [isShared ? key : ''])
  const current = state.key === key ? state : { key }
  return {
    value: 'value' in current ? current.value : undefined,
    error: 'error' in current ? current.error : undefined,
    loading: state.key !== key,
    reload,
  }
}

type Listener = (outcome: Outcome<unknown>) => void
type SharedRead = {
  listeners: Set<Listener>
  last: Outcome<unknown> | undefined
  restart: () => void
  stop: () => void
}

const sharedReads = new Map<string, SharedRead>()

/** Gives the listener what others with this key read, or begins to read. Returns a function that leaves; the last one ends the reads. */
function joinShared<Value>(
  key: string,
  read: Read<Value>,
  everyMs: number,
  onOutcome: (outcome: Outcome<Value>) => void,
): () => void {
  const shared = sharedReads.get(key) ?? openShared(key, read, everyMs)
  // All who share a key read the same.
  const listener = onOutcome as Listener
  shared.listeners.add(listener)
  if (shared.last) listener(shared.last)
  return () => {
    shared.listeners.delete(listener)
    if (shared.listeners.size > 0) return
    shared.stop()
    sharedReads.delete(key)
  }
}

function openShared<Value>(key: string, read: Read<Value>, everyMs: number): SharedRead {
  const start = () =>
    readAgain(read, everyMs, (outcome) => {
      shared.last = outcome
      for (const listener of [...shared.listeners]) listener(outcome)
    })
  const shared: SharedRead = {
    listeners: new Set(),
    last: undefined,
    restart: () => {
      stop()
      stop = start()
    },
    stop: () => stop(),
  }
  let stop = start()
  sharedReads.set(key, shared)
  return shared
}
