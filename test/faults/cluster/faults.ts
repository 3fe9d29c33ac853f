import { setTimeout as delay } from 'node:timers/promises'
import { Redis } from 'ioredis'
import type { Fault } from '../fault.ts'
import { freezeProcess } from '../frozen-process.ts'
import type { ClusterFault } from './fault.ts'
import { runFailover } from './postgres-failover.ts'
import { runRounds } from './run-rounds.ts'
import { type ClusterScene, openClusterScene } from './scene.ts'

/** Requests change to another copy, if there is one. */
const ofQuestdb = ({ questdbs }: ClusterScene) => (questdbs.length > 1 ? 'change' : 'recovery')

const all: ClusterFault[] = [
  killed('ingest', 'change'),
  killed('writer', 'change'),
  killed('control-plane', 'change'),
  killed('worker', 'change'),
  killed('kafka', 'change'),
  killed('redis', 'change'),
  { name: 'redis-flushed', apiErrors: 'change', cause: flushRedis },
  killed('postgres', 'recovery'),
  killed('questdb', ofQuestdb),
  { name: 'questdb-frozen', apiErrors: ofQuestdb, cause: freezeQuestdb },
  { name: 'rebalances', rounds: 1, apiErrors: 'never', cause: rebalance },
]

/** The faults of a cluster. They share one cluster, which starts with the first and stops with `close`, except for the failover. */
export function openClusterFaults(): { faults: Fault[]; close(): Promise<void> } {
  let scene: Promise<ClusterScene> | undefined
  async function close(): Promise<void> {
    const opened = await scene?.catch(() => undefined)
    scene = undefined
    await opened?.close()
  }
  const onOneCluster = all.map((fault) => ({
    name: `cluster-${fault.name}`,
    async run({ quick }: { quick: boolean }) {
      scene ??= openClusterScene()
      return runRounds(await scene, fault, quick)
    },
  }))
  const failover: Fault = {
    name: 'cluster-postgres-failover',
    async run({ quick }) {
      // This machine may not have the memory for two clusters.
      await close()
      return runFailover(quick)
    },
  }
  return { faults: [...onOneCluster, failover], close }
}

/** Kills one process of an app or an engine, another one in each round. */
function killed(name: string, apiErrors: ClusterFault['apiErrors']): ClusterFault {
  return {
    name: `${name}-killed`,
    apiErrors,
    async cause(scene, { round }) {
      const victim = await scene.parts.partOf(name, round)
      process.kill(victim.pid, 'SIGKILL')
      await scene.parts.replaced(victim)
    },
  }
}

async function flushRedis({ redisUrl }: ClusterScene): Promise<void> {
  const redis = new Redis(redisUrl)
  await redis.flushall()
  redis.disconnect()
}

async function freezeQuestdb(scene: ClusterScene, { round, quick }: { round: number; quick: boolean }): Promise<void> {
  const { pid } = await scene.parts.partOf('questdb', round)
  const resume = freezeProcess(pid)
  await delay(quick ? 20_000 : 60_000).finally(resume)
}

/** Stops one of the two writers of each QuestDB in turn. Partitions move when it leaves and when the next process joins. */
async function rebalance(scene: ClusterScene, { quick }: { quick: boolean }): Promise<void> {
  const endMs = Date.now() + (quick ? 45_000 : 300_000)
  for (let index = 0; Date.now() < endMs; index++) {
    const nextMs = Date.now() + 10_000
    const stopped = scene.questdbs.map(async (_, copy) => {
      const writer = await scene.parts.partOf('writer', 2 * copy + (index % 2))
      process.kill(writer.pid, 'SIGTERM')
      await scene.parts.replaced(writer)
    })
    await Promise.all(stopped)
    await delay(Math.max(0, nextMs - Date.now()))
  }
}
