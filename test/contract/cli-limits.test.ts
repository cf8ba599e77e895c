// The command line knows the service by its contract alone, and says limits before a request is sent: they are those
// of the contract.

import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import { numberIn } from '../tidy/documented-numbers.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** By constant of a file in cli/commands, the schema whose maximum it is. */
const SCHEMAS: Readonly<Record<string, readonly string[]>> = {
  'query.ts LIMIT_MAX': ['QueryRequest', 'properties', 'limit'],
  'query.ts AUTOCUT_MAX': ['Autocut'],
  'table.ts SHARDS_MAX': ['CreateTableRequest', 'properties', 'num_shards'],
  'table.ts REPLICAS_MAX': ['CreateTableRequest', 'properties', 'replication_factor'],
}
/** Constants of parameters, and of what a command does by itself. */
const OTHERS: Readonly<Record<string, string>> = {
  'cluster-hand-over.ts HOLD_SECONDS_MAX': 'seconds of HandOverRequest.hold_ms',
  'indexes.ts PARKED_MAX': 'a parameter of getIndex',
  'load.ts BATCH_SIZE_MAX': 'documents in a request of the loader',
  'load.ts CONCURRENCY_MAX': 'requests of the loader at once',
  'cluster-start.ts NODES_MAX': 'processes on this machine',
  'cluster-start.ts PORT_MAX': 'ports of this machine',
}

describe('the limits of the command line', () => {
  it('are all known here', () => {
    const found = new Set<string>()
    for (const file of globSync('cli/commands/*.ts', { cwd: ROOT })) {
      const text = readFileSync(path.join(ROOT, file), 'utf8')
      for (const [, name] of text.matchAll(/integerOption\(\w+,\s*(\w+)\)/g)) {
        found.add(`${path.basename(file)} ${name}`)
      }
    }

    expect([...found].toSorted()).to.deep.equal(
      [...Object.keys(SCHEMAS), ...Object.keys(OTHERS)].toSorted(),
    )
  })

  for (const [constant, way] of Object.entries(SCHEMAS)) {
    it(`are those of the contract: ${constant}`, () => {
      const [file = '', name = ''] = constant.split(' ')
      const { schemas } = loadContract('store.v1').document.components

      expect(numberIn(`cli/commands/${file}`, name)).to.equal(maximumAt(schemas, way))
    })
  }
})

function maximumAt(schemas: unknown, way: readonly string[]): unknown {
  return [...way, 'maximum'].reduce<unknown>((value, name) => Object(value)[name], schemas)
}
