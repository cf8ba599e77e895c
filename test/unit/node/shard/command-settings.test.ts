import { expect } from 'chai'
import { DocumentRules } from '../../../../node/schema/document-rules.ts'
import { parseTableSchema } from '../../../../node/schema/table-schema.ts'
import type { WriteOp } from '../../../../node/shard/command/command.ts'
import { NO_SETTINGS } from '../../../../node/shard/command/table-settings.ts'
import { errorOf } from '../../../support/error-of.ts'
import { ShardWorld } from '../../../support/worlds/shard-world.ts'

const key = Buffer.from('k')
const INCREMENT: WriteOp = {
  kind: 'transform',
  key,
  transform: {
    key,
    upsert: true,
    operations: [{ operator: '$inc', path: ['n'], value: Buffer.from('1') }],
  },
}
const TITLED = {
  default_type: 'book',
  enforce_types: true,
  document_schemas: { book: { schema: { type: 'object', required: ['title'] } } },
}

describe('a command that waits while the schema changes', () => {
  it('is applied under the rules of its proposal, and the next one under the new rules', async () => {
    await using world = await ShardWorld.open(['t'])
    const shard = world.shard('t')
    const increment = () => shard.write({ checks: [], ops: [INCREMENT], ttl: undefined })
    const rules = new DocumentRules(parseTableSchema(TITLED, undefined))

    const early = increment() // applied in a later microtask
    const changed = shard.led.setSettings({ ...NO_SETTINGS, rules })
    const late = errorOf(increment)

    await changed
    expect(await early).to.include({ kind: 'written' })
    expect(await late).to.include({ code: 'INVALID_ARGUMENT' })
  })
})
