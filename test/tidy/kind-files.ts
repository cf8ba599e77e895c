// The files that are made from operator/kinds: definitions for Kubernetes, and tables for people.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { format } from 'prettier'
import { CORE_SCHEMA, dump } from 'js-yaml'
import { buildDeletionPolicy } from '../../operator/kinds/crd/deletion-policy.ts'
import { conditionRows, fieldRows, ruleMessages } from '../../operator/kinds/crd/field-table.ts'
import { buildStoreClusterCrd } from '../../operator/kinds/crd/store-cluster-crd.ts'
import { formatPage, markdownTable, withTables } from './markdown.ts'

const PAGE = 'docs/reference/store-cluster.md'
const MADE = '# Made by "npm run crds" from operator/kinds; edit that.\n'
/** Each text stays on its line, and each part is written out. */
const YAML_OPTIONS = { lineWidth: -1, noRefs: true, schema: CORE_SCHEMA } as const

/** By their paths from the root, the texts that the files should have. */
export async function kindFiles(root: string): Promise<Readonly<Record<string, string>>> {
  const page = readFileSync(path.join(root, PAGE), 'utf8')
  return {
    'crds/quarry.dev_storeclusters.yaml': await yamlText([buildStoreClusterCrd()]),
    'crds/quarry.dev_storeclusters_deletion-protection.yaml': await yamlText(buildDeletionPolicy()),
    [PAGE]: await formatPage(withTables(page, tables())),
  }
}

function tables() {
  const titles = ['Field', 'Type', 'Default', 'Limits', 'Meaning']
  return {
    spec: () => markdownTable(titles, fieldRows('spec')),
    status: () => markdownTable(titles, fieldRows('status')),
    conditions: () => markdownTable(['Condition', 'True means', 'Reasons'], conditionRows()),
    rules: () =>
      ruleMessages()
        .map((message) => `- ${message}`)
        .join('\n'),
  }
}

async function yamlText(objects: readonly object[]): Promise<string> {
  const documents = objects.map((object) => dump(object, YAML_OPTIONS))
  return format(MADE + documents.join('---\n'), {
    parser: 'yaml',
    semi: false,
    singleQuote: true,
    printWidth: 100,
  })
}
