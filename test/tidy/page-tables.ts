// The tables of options, codes and limits in documents, made from the code that has them.

import { leftOutFiles, LEFT_OUT_PACKAGES } from '../../images/parts/left-out.ts'
import { PLATFORMS } from '../../images/parts/platform.ts'
import { INFERENCE_OPTIONS } from '../../inference/config.ts'
import { must } from '../../lib/assert.ts'
import { defaultOf, fileKey, flagName } from '../../lib/options.ts'
import type { OptionTable } from '../../lib/options.ts'
import { EXIT_CODES } from '../../lib/process/exit-codes.ts'
import { BODY_BYTES_MAX } from '../../lib/http/request-body.ts'
import { NODE_OPTIONS } from '../../node/cluster-config.ts'
import { SWARM_OPTIONS } from '../../node/config.ts'
import {
  MERGE_RECORDS_MAX,
  MERGE_SCANNED_KEYS_MAX,
} from '../../node/transactions/writes/linear-merge.ts'
import { TABLES_MAX } from '../../node/catalog/admin/table-admin.ts'
import {
  CLUSTER_REPLICATION,
  SWARM_REPLICATION,
} from '../../node/catalog/admin/table-replication.ts'
import { DOCUMENT_BYTES_MAX, KEY_BYTES_MAX } from '../../node/document/document-limits.ts'
import { QUERY_CLAUSES_MAX, QUERY_LIMIT_MAX } from '../../node/query/query-limits.ts'
import { HISTORY_RETENTION_MS } from '../../node/shard/housekeeping/history-collection.ts'
import { TABLE_FIELDS_MAX } from '../../node/schema/table-field.ts'
import { overrideRows, writtenRows } from '../../operator/handbook/annotations.ts'
import { eventRows } from '../../operator/handbook/events.ts'
import {
  conditionSections,
  operationRows,
  phaseRows,
} from '../../operator/handbook/handbook-rows.ts'
import { markdownTable } from './markdown.ts'

/** By the name of a table, what is between its marks. */
export type Tables = Readonly<Record<string, () => string>>

/** By document, the tables that it has of options, codes and limits. */
export const TABLES: Readonly<Record<string, Tables>> = {
  'docs/reference/configuration.md': {
    'quarry swarm': () => optionsTable(SWARM_OPTIONS),
    'quarry node': () => optionsTable(NODE_OPTIONS),
    'quarry inference': () => optionsTable(INFERENCE_OPTIONS),
  },
  'docs/reference/errors.md': { 'exit codes': () => exitCodesTable() },
  'docs/reference/limits.md': { limits: () => limitsTable() },
  'docs/lab/images.md': { 'left out': () => leftOutTable() },
  'docs/reference/handbook.md': handbookTables(),
}

function optionsTable(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => [
    option.flag === undefined ? '' : `\`${flagName(name)}\``,
    `\`${option.variable}\``,
    `\`${fileKey(name)}\``,
    option.defaultText ?? `\`${defaultOf(option)}\``,
    option.help,
  ])
  return markdownTable(['Option', 'Environment', 'File', 'Default', 'Meaning'], rows)
}

function leftOutTable(): string {
  const platform = must(PLATFORMS[0], 'a platform')
  const whole = LEFT_OUT_PACKAGES.map(({ packages, targets, reason }) => [
    'whole',
    `\`${packages.source}\``,
    targets === undefined ? reason : `${reason}; in \`quarry-inference\` alone`,
  ])
  const parts = leftOutFiles(platform).map(({ within, files, reason }) => [
    within === undefined ? 'any' : `\`${within}\``,
    `\`${files.source}\``,
    reason,
  ])
  return markdownTable(['Package', 'Names or paths', 'Why'], [...whole, ...parts])
}

/** A condition without a place on the page is an error of `withTables`. */
function handbookTables(): Tables {
  const titles = ['Reason', 'Is', 'Means', 'What to do', 'Look closer']
  const conditions = conditionSections().map(({ type, means, rows }): [string, () => string] => [
    type,
    () => `True: ${means}.\n\n${markdownTable(titles, rows)}`,
  ])
  return {
    ...Object.fromEntries(conditions),
    operations: () =>
      markdownTable(['Operation', 'Is', 'Phases', 'How it is taken back'], operationRows()),
    phases: () => markdownTable(['Phase', 'Of', 'What happens'], phaseRows()),
    overrides: () =>
      markdownTable(['Annotation', 'Value', 'What it does', 'When to use it'], overrideRows()),
    events: () =>
      markdownTable(
        ['Event', 'Type', 'Means'],
        eventRows().map(([reason, type, means]) => [`\`${reason}\``, type, means]),
      ),
    annotations: () => markdownTable(['Annotation', 'Of'], writtenRows()),
  }
}

function exitCodesTable(): string {
  const rows = Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning])
  return markdownTable(['Exit code', 'Meaning'], rows)
}

const MIB = 1024 * 1024
const MINUTE_MS = 60_000
const count = (number: number): string => number.toLocaleString('en')
const mebibytes = (bytes: number): string => `${bytes / MIB} MiB`

function limitsTable(): string {
  const { shardsMax: inSwarm } = SWARM_REPLICATION
  const { shardsMax: inCluster } = CLUSTER_REPLICATION
  const named = `${count(TABLE_FIELDS_MAX)} that no schema describes; texts of more are searched without a name`
  const page = `${count(MERGE_RECORDS_MAX)} records, over at most ${count(MERGE_SCANNED_KEYS_MAX)} keys`
  return markdownTable(
    ['What', 'Limit'],
    [
      ['key', `1 to ${KEY_BYTES_MAX} bytes of UTF-8, any characters`],
      ['document', mebibytes(DOCUMENT_BYTES_MAX)],
      ['request body', `${mebibytes(BODY_BYTES_MAX)}, after decompression`],
      ['table name', '255 of letters, digits, `.`, `_`, `-`'],
      ['tables', count(TABLES_MAX)],
      [
        'shards of a table',
        `${inSwarm} in swarm mode, ${inCluster} in a cluster, chosen when it is created`,
      ],
      ['fields of a table', named],
      ['hits of a query', count(QUERY_LIMIT_MAX)],
      ['clauses of a query', count(QUERY_CLAUSES_MAX)],
      ['one page of a merge', page],
      [
        'a scan at one moment',
        `the history that it needs is kept for ${HISTORY_RETENTION_MS / MINUTE_MS} minutes`,
      ],
    ],
  )
}
