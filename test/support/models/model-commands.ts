// Random operations over HTTP, as fast-check generates and shrinks them.

import * as fc from 'fast-check'
import * as arbitrary from './model-arbitraries.ts'
import {
  batch,
  compareAll,
  create,
  cross,
  commit,
  drop,
  list,
  lookup,
  merge,
  scan,
  schema,
} from './model-operations.ts'
import type { ClaimKind, Subject } from './model-operations.ts'
import type { StoreModel } from './store-model.ts'

type Run = (model: StoreModel, subject: Subject) => Promise<void>
type Command = fc.AsyncCommand<StoreModel, Subject>

function command(name: string, input: unknown, run: Run): Command {
  return {
    check: () => true,
    run,
    toString: () => `${name}(${JSON.stringify(input)})`,
  }
}

export const COMMANDS: readonly fc.Arbitrary<Command>[] = [
  fc
    .record({
      table: arbitrary.table,
      shards: fc.oneof(
        fc.record({ num_shards: fc.integer({ min: 1, max: 4 }) }),
        fc.constantFrom({}, { split_keys: ['a/b', 'k', '\ufffd'] }, { split_keys: ['__proto__'] }),
      ),
      typed: fc.boolean(),
    })
    .map((input) => command('create', input, (...both) => create(input, ...both))),
  arbitrary.table.map((table) => command('drop', table, (...both) => drop(table, ...both))),
  fc.constant(command('list', '', list)),
  ...repeated(5, () =>
    fc
      .record({ table: arbitrary.table, writes: arbitrary.writes })
      .map((input) => command('batch', input, (...both) => batch(input, ...both))),
  ),
  ...repeated(2, () =>
    fc
      .uniqueArray(fc.tuple(arbitrary.table, arbitrary.writes), {
        selector: ([table]) => table,
        minLength: 1,
        maxLength: 3,
      })
      .map((input) => command('cross-table batch', input, (...both) => cross(input, ...both))),
  ),
  ...repeated(3, () =>
    fc
      .record({
        claims: fc.uniqueArray(
          fc.tuple(
            arbitrary.table,
            arbitrary.key,
            fc.constantFrom<ClaimKind>('right', 'right', 'right', 'wrong', 'absent'),
          ),
          { selector: ([table, key]) => `${table}/${key}`, maxLength: 3 },
        ),
        tables: fc.uniqueArray(fc.tuple(arbitrary.table, arbitrary.writes), {
          selector: ([table]) => table,
          maxLength: 2,
        }),
      })
      .map((input) => command('commit', input, (...both) => commit(input, ...both))),
  ),
  ...repeated(2, () =>
    fc
      .record({
        table: arbitrary.table,
        records: arbitrary.inserts,
        after: fc.option(arbitrary.key, { nil: undefined }),
        dryRun: fc.boolean(),
      })
      .map((input) => command('merge', input, (...both) => merge(input, ...both))),
  ),
  ...repeated(3, () =>
    fc
      .record({
        table: arbitrary.table,
        from: fc.option(arbitrary.key, { nil: undefined }),
        to: fc.option(arbitrary.key, { nil: undefined }),
        inclusive_from: fc.boolean(),
        exclusive_to: fc.boolean(),
        limit: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
        fields: fc.option(arbitrary.fields, { nil: undefined }),
        filter_query: fc.option(arbitrary.filter, { nil: undefined }),
      })
      .map((input) => command('scan', input, (...both) => scan(input, ...both))),
  ),
  ...repeated(3, () =>
    fc
      .record({
        table: arbitrary.table,
        key: arbitrary.key,
        fields: fc.option(arbitrary.fields, { nil: undefined }),
      })
      .map((input) =>
        command('lookup', input, async (...both) => void (await lookup(input, ...both))),
      ),
  ),
  fc
    .record({ table: arbitrary.table, typed: fc.boolean() })
    .map((input) => command('schema', input, (...both) => schema(input, ...both))),
]

export const RESTART: fc.Arbitrary<Command> = fc.constant(
  command('restart', '', async (model, subject) => {
    await subject.restart()
    await compareAll(model, subject)
  }),
)

/** Nothing that the store answers depends on the wall clock, so the model knows nothing of it. */
export const LEAP: fc.Arbitrary<Command> = fc.constant(
  command('leap', '', async (_model, subject) => subject.leap()),
)

function repeated<Item>(times: number, build: () => Item): readonly Item[] {
  return Array.from({ length: times }, build)
}
