import type { Round } from './lab-run.ts'

/** A table in Markdown with a row for each scenario that was played. */
export function tableOf(rounds: readonly Round[]): string {
  const byId = Map.groupBy(rounds, ({ id }) => id)
  const rows = [...byId].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
  const lines = rows.map(([id, own]) => rowOf(id, own))
  const head = [
    '| Scenario | Rounds | Seconds | Kills | Of nodes that served | Acknowledged | Requests ok / refused / unknown | Longest stall (s) | Broken promises |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
  ]
  return [...head, ...lines, rowOf('all', rounds), ''].join('\n')
}

function rowOf(id: string, rounds: readonly Round[]): string {
  const sum = (of: (round: Round) => number): number =>
    rounds.reduce((total, round) => total + of(round), 0)
  const { ok, fail, unknown } = {
    ok: sum(({ outcomes }) => outcomes.ok),
    fail: sum(({ outcomes }) => outcomes.fail),
    unknown: sum(({ outcomes }) => outcomes.unknown),
  }
  const stallMs = Math.max(0, ...rounds.map((round) => round.stallMs))
  const cells = [
    id,
    rounds.length,
    Math.round(sum(({ tookMs }) => tookMs) / 1000),
    sum(({ kills }) => kills),
    sum(({ servingKills }) => servingKills),
    sum(({ acknowledged }) => acknowledged),
    `${ok} / ${fail} / ${unknown}`,
    (stallMs / 1000).toFixed(1),
    sum(({ violations }) => violations.length),
  ]
  return `| ${cells.join(' | ')} |`
}
