import { formatTable } from '../render/text-table.ts'
import type { Output } from '../process/terminal.ts'
import { memberOf, textOf } from '../service/service-answers.ts'

/** What a node has loaded, for a person. */
export function describeLoaded(value: unknown, out: Output): string {
  const level = textOf(value, 'log_level')
  const head = `node ${textOf(value, 'node')} has loaded its settings; its log level is ${level}`
  const files = memberOf(value, 'files')
  if (!Array.isArray(files) || files.length === 0) return head
  const columns = [{ title: 'file' }, { title: 'digest' }, { title: 'expires' }]
  const rows = files.map((file: unknown) => [
    textOf(file, 'option'),
    textOf(file, 'digest').slice(0, 16),
    textOf(file, 'expires_at'),
  ])
  return `${head}\n\n${formatTable(columns, rows, out)}`
}
