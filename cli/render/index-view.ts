// Shows indexes: what they are of, how far they are, and which documents they lack.

import { ownCommand } from '../../lib/own-command.ts'
import { entriesOf, memberOf, numberOf, textOf } from '../service/service-answers.ts'
import { paint } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { formatBytes, formatCount, plural } from './quantity.ts'
import { formatTable } from './text-table.ts'
import { printable } from '../../lib/process/log-words.ts'

const LABEL_COLUMNS = 12
/** Shown elsewhere. */
const HIDDEN_SETTINGS: ReadonlySet<string> = new Set(['name', 'type'])

export function describeIndexes(answer: unknown, screen: Output): string {
  const columns = [
    { title: 'INDEX' },
    { title: 'TYPE' },
    { title: 'DOCUMENTS', align: 'right' },
    { title: 'ON DISK', align: 'right' },
    { title: 'STATE' },
  ] as const
  const rows = listOf(answer).map((index) => {
    const config = memberOf(index, 'config')
    const status = memberOf(index, 'status')
    return [
      printable(textOf(config, 'name')),
      textOf(config, 'type'),
      formatCount(numberOf(status, 'total_indexed')),
      formatBytes(numberOf(status, 'disk_usage')),
      printable(stateOf(status)),
    ]
  })
  return rows.length === 0
    ? `no indexes; create one with: ${ownCommand('index create TABLE INDEX --field FIELD')}`
    : formatTable(columns, rows, screen)
}

export function describeIndex(index: unknown, screen: Output): string {
  const config = memberOf(index, 'config')
  const status = memberOf(index, 'status')
  const settings = entriesOf(config).filter(([name]) => !HIDDEN_SETTINGS.has(name))
  const facts: (readonly [name: string, value: string])[] = [
    ['type', textOf(config, 'type')],
    ...settings.map(([name, value]) => [name, settingText(value)] as const),
    ['documents', formatCount(numberOf(status, 'total_indexed'))],
    ['on disk', formatBytes(numberOf(status, 'disk_usage'))],
    ['state', stateOf(status)],
  ]
  const width = Math.max(LABEL_COLUMNS, ...facts.map(([name]) => name.length + 1))
  const lines = facts.map(
    ([name, value]) => `${paint(screen, 'dim', name.padEnd(width))}${printable(value)}`,
  )
  const title = paint(screen, 'bold', printable(textOf(config, 'name')))
  return [title, ...lines, ...parkedLines(memberOf(index, 'parked_documents'), screen)].join('\n')
}

function settingText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** In one sentence, what a person waits for. */
function stateOf(status: unknown): string {
  const enrichment = memberOf(status, 'enrichment')
  // The error of the vectors that the store makes is one of the index, too.
  const problems = new Set([textOf(status, 'error'), textOf(enrichment, 'error')])
  problems.delete('')
  const parked = numberOf(enrichment, 'parked')
  const warnings = listOf(memberOf(status, 'warnings')).map(
    (warning) => `warning: ${String(warning)}`,
  )
  const parts = [
    ...progressOf(status, enrichment),
    ...warnings,
    ...(parked === 0 ? [] : [`${plural(parked, 'document')} parked`]),
    ...problems,
  ]
  return parts.length === 0 ? 'complete' : parts.join('; ')
}

function progressOf(status: unknown, enrichment: unknown): string[] {
  if (memberOf(status, 'rebuilding') === true) {
    return [`being built, ${percent(numberOf(status, 'backfill_progress'))}`]
  }
  if (enrichment === undefined) {
    const behind = numberOf(status, 'documents_behind') - numberOf(status, 'documents_set_aside')
    return behind > 0 ? [`${plural(behind, 'document')} behind`] : []
  }
  const pending = numberOf(enrichment, 'pending')
  const progress = numberOf(enrichment, 'progress')
  const stays = numberOf(enrichment, 'parked') + numberOf(status, 'documents_set_aside')
  const untaken = numberOf(status, 'documents_behind') - stays
  return [
    ...(progress < 1 ? [`looking at documents, ${percent(progress)}`] : []),
    ...(pending > 0 ? [`${plural(pending, 'document')} waiting for a vector`] : []),
    ...(pending === 0 && untaken > 0 ? [`${plural(untaken, 'document')} behind`] : []),
  ]
}

function percent(share: number): string {
  return `${Math.floor(share * 100)} %`
}

function parkedLines(documents: unknown, screen: Output): string[] {
  const rows = listOf(documents).map((document) => [
    printable(textOf(document, '_id')),
    printable(textOf(document, 'error')),
  ])
  if (rows.length === 0) return []
  return ['', formatTable([{ title: 'PARKED DOCUMENT' }, { title: 'WHY' }], rows, screen)]
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
