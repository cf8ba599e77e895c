// What happens to a simulated shard and its indexes, step by step.

import { timestampAtMs } from '../../../../node/clock/hybrid-clock.ts'
import type { IndexDefinition } from '../../../../node/index/host/index-definition.ts'
import { parseTableSchema } from '../../../../node/schema/table-schema.ts'
import type { TableSettings } from '../../../../node/shard/command/table-settings.ts'
import { collectHistory } from '../../../../node/shard/housekeeping/history-collection.ts'
import { settingsOf, WORDS } from '../../worlds/text-shard.ts'
import type { Dice } from '../dice.ts'
import type { DocumentClient } from './document-client.ts'
import type { SimulatedShard } from './simulated-shard.ts'

/** What a step works on; its dice are its own. */
export interface StepWorld {
  readonly shard: SimulatedShard
  readonly client: DocumentClient
  readonly dice: Dice
}

/** A step under way. With `endsProcessAfterMs` its process ends then, and it may never be done. */
export interface Step {
  readonly done: () => Promise<void>
  readonly endsProcessAfterMs?: number
  /** The process ends at this change of its files, if that comes earlier. */
  readonly endsProcessAtChange?: number
  /** Done between the end of the process and its next start. */
  readonly meanwhile?: () => void
}

export interface StepRule {
  /** Taken whatever a history is about. */
  readonly isCalm?: boolean
  readonly run: (world: StepWorld) => Step
}

/** A flush and the merges behind it change files about so often. */
const FLUSH_CHANGES_MAX = 40

const MORE = { ...WORDS, name: 'more' }
const SCHEMAS = [undefined, 'text', 'keyword'].map((type) =>
  type === undefined
    ? undefined
    : parseTableSchema(
        {
          document_schemas: {
            note: {
              schema: { properties: { text: { type: 'string' }, [type]: { type: 'string' } } },
            },
          },
        },
        undefined,
      ),
)

export type StepKind =
  | 'write'
  | 'ask'
  | 'ask_while_writing'
  | 'wait'
  | 'kill'
  | 'kill_while_flushing'
  | 'kill_while_building'
  | 'kill_and_flip'
  | 'end_worker'
  | 'close'
  | 'close_while_building'
  | 'add_or_drop'
  | 'change_schema'
  | 'collect'

export const STEPS: Readonly<Record<StepKind, StepRule>> = {
  write: {
    isCalm: true,
    run: ({ client, dice }) => ({ done: () => client.write(dice, 20) }),
  },
  ask: { isCalm: true, run: ({ client, dice }) => ({ done: () => client.compare(dice) }) },
  ask_while_writing: {
    isCalm: true,
    run: ({ client, dice }) => ({ done: () => client.askWhileWriting(dice) }),
  },
  /** Up to the next flush, and beyond. */
  wait: {
    isCalm: true,
    run: ({ shard, dice }) => ({ done: () => shard.clock.sleep(dice.between(0, 40_000)) }),
  },
  kill: {
    run: ({ client, dice }) => ({
      done: () => writeOn(client, dice),
      endsProcessAfterMs: dice.between(0, 400),
    }),
  },
  /** Flushes begin half a minute after a change. */
  kill_while_flushing: {
    run: ({ shard, client, dice }) => ({
      done: async () => {
        await client.write(dice, 20)
        await shard.clock.sleep(29_900)
        await writeOn(client, dice)
      },
      endsProcessAfterMs: 30_400,
      endsProcessAtChange: 1 + Math.floor(dice.between(0, FLUSH_CHANGES_MAX)),
    }),
  },
  kill_while_building: {
    run: ({ shard, client, dice }) => ({
      done: async () => {
        await shard.set(withIndexes(shard, addedOrDropped(shard)))
        await writeOn(client, dice)
      },
      endsProcessAfterMs: dice.between(0, 400),
    }),
  },
  kill_and_flip: {
    run: ({ shard, client, dice }) => ({
      done: () => writeOn(client, dice),
      endsProcessAfterMs: dice.between(0, 400),
      meanwhile: () => void shard.flipByte(dice),
    }),
  },
  end_worker: {
    run: ({ shard, client, dice }) => ({
      done: async () => {
        const writing = client.write(dice, 20)
        const isIdle = dice.chance(0.5)
        if (isIdle) {
          await writing
          await client.compare(dice)
        }
        await shard.clock.sleep(dice.between(0, 30))
        shard.endWorker()
        await writing
        if (isIdle) await client.compare(dice)
      },
    }),
  },
  close: {
    run: ({ shard }) => ({
      done: async () => {
        await shard.close()
        await shard.open()
      },
    }),
  },
  close_while_building: {
    run: ({ shard, client, dice }) => ({
      done: async () => {
        await shard.set(withIndexes(shard, addedOrDropped(shard)))
        await client.write(dice, 10)
        await shard.clock.sleep(dice.between(0, 50))
        await shard.close()
        await shard.open()
      },
    }),
  },
  add_or_drop: {
    run: ({ shard }) => ({ done: () => shard.set(withIndexes(shard, addedOrDropped(shard))) }),
  },
  change_schema: {
    run: ({ shard, dice }) => ({
      done: () => {
        const schema = dice.pick(SCHEMAS)
        const { indexes, schema: before } = shard.settings
        const version = (before?.version ?? 0) + 1
        return shard.set(settingsOf({ ...(schema && { schema: { ...schema, version } }), indexes }))
      },
    }),
  },
  /** The log keeps only what an index needs. */
  collect: {
    run: ({ shard }) => ({
      done: () => collectHistory(shard.shard.led, timestampAtMs(shard.clock.nowMs() + 60_000)),
    }),
  },
}

function addedOrDropped({ settings }: SimulatedShard): readonly IndexDefinition[] {
  return settings.indexes.length > 1 ? [WORDS] : [WORDS, MORE]
}

function withIndexes(
  { settings: { schema } }: SimulatedShard,
  indexes: readonly IndexDefinition[],
): TableSettings {
  return settingsOf({ ...(schema && { schema }), indexes })
}

/** Until the process ends. */
async function writeOn(client: DocumentClient, dice: Dice): Promise<void> {
  for (;;) await client.write(dice, 10)
}
