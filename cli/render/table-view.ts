// Shows tables: what they hold, their indexes, and their shards.

import { ownCommand } from '../../lib/own-command.ts'
import { edgeOf, paint } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import type { ShardAnswer, TableAnswer } from '../service/service-answers.ts'
import { formatBytes, formatCount, plural } from './quantity.ts'
import { formatTable } from './text-table.ts'
import { printable } from '../../lib/process/log-words.ts'

/** A column and the gap behind it take this much of a narrow terminal, which shows the first columns alone. */
const COLUMN_WIDTH_MIN = 10
const GAP = 2

export function describeTables(tables: readonly TableAnswer[], screen: Output): string {
  if (tables.length === 0) {
    return `no tables yet; create one with: ${ownCommand('table create NAME')}`
  }
  const columns = [
    { title: 'TABLE' },
    { title: 'DOCUMENTS', align: 'right' },
    { title: 'ON DISK', align: 'right' },
    { title: 'INDEXES' },
    { title: 'LANGUAGE' },
    { title: 'SHARDS', align: 'right' },
    { title: 'SCHEMA' },
    { title: 'DESCRIPTION' },
  ] as const
  const rows = tables.map((table) => [
    table.name,
    countOf(table),
    diskUsageOf(table),
    table.indexes.map(({ name }) => name).join(', ') || '-',
    table.language || '-',
    String(table.shards.length),
    table.schemaVersion === undefined ? '-' : `v${table.schemaVersion}`,
    table.description,
  ])
  const shown = Math.max(1, Math.floor((edgeOf(screen) + GAP) / COLUMN_WIDTH_MIN))
  return formatTable(
    columns.slice(0, shown),
    rows.map((row) => row.slice(0, shown)),
    screen,
  )
}

/** Indexes count documents, and may be behind. */
function countOf({ approximateDocuments: count }: TableAnswer): string {
  if (count === undefined) return '-'
  return count === 0 ? '0' : `~${formatCount(count)}`
}

/** Recent writes are in the journal, which all tables share, until they reach the table's own files. */
function diskUsageOf({ empty, diskUsage }: TableAnswer): string {
  if (empty) return 'empty'
  return diskUsage === 0 ? 'in journal' : formatBytes(diskUsage)
}

export function describeTable(table: TableAnswer, screen: Output): string {
  const facts = [
    ['description', table.description || '-'],
    ['documents', describeCount(table)],
    ['on disk', diskUsageOf(table)],
    ['indexes', describeIndexes(table)],
    ['language', table.language || '-'],
    ['fields', describeFields(table)],
    ['schema', table.schemaVersion === undefined ? '-' : `version ${table.schemaVersion}`],
    ['replicas', describeReplicas(table)],
  ] as const
  const shards = formatTable(
    [{ title: 'SHARD' }, { title: 'FROM KEY' }, { title: 'TO KEY (EXCLUSIVE)' }],
    table.shards.map((shard) => [shard.id, ...describeRange(shard)]),
    screen,
  )
  const lines = facts.map(
    ([name, value]) => `${paint(screen, 'dim', name.padEnd(12))}${printable(value)}`,
  )
  return [paint(screen, 'bold', table.name), ...lines, '', shards].join('\n')
}

function describeCount(table: TableAnswer): string {
  const { approximateDocuments: count, documentsBehind: behind } = table
  if (count === undefined) return '-'
  const late = behind === 0 ? '' : `, searches may lack ${formatCount(behind)}`
  return `about ${plural(count, 'document')}${late}`
}

function describeIndexes({ indexes, indexDiskUsage: bytes }: TableAnswer): string {
  if (indexes.length === 0) return '-'
  const names = indexes.map(({ name, type }) => (type === '' ? name : `${name} (${type})`))
  return names.join(', ') + (bytes === undefined ? '' : `; ${formatBytes(bytes)} on disk`)
}

const FIELDS_SHOWN_MAX = 20

function describeFields({ fields: { named, more } }: TableAnswer): string {
  if (named.length === 0) return '-'
  const shown = named
    .slice(0, FIELDS_SHOWN_MAX)
    .map(({ name, kind }) => (kind === '' ? name : `${name} (${kind})`))
  const others = Math.max(0, named.length - FIELDS_SHOWN_MAX) + more
  return shown.join(', ') + (others === 0 ? '' : `, and ${formatCount(others)} more`)
}

function describeReplicas({ replicationFactor, minInSync }: TableAnswer): string {
  return replicationFactor > 1 ? `${replicationFactor}, writes need ${minInSync} in sync` : '1'
}

function describeRange({ from, to }: ShardAnswer): [string, string] {
  return [from?.toString('utf8') ?? '(first)', to?.toString('utf8') ?? '(last)']
}
