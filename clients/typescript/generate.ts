// Makes the types in src/contract from the contracts: `npm run generate` after a contract has changed.

import { writeFile } from 'node:fs/promises'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'

export const CONTRACTS = ['store.v1', 'inference.v1'] as const
export type ContractName = (typeof CONTRACTS)[number]

export function typesFileOf(contract: ContractName): URL {
  return new URL(`src/contract/${contract}.ts`, import.meta.url)
}

export async function generateTypes(contract: ContractName): Promise<string> {
  const source = new URL(`../../openapi/${contract}.yaml`, import.meta.url)
  const nodes = await openapiTS(source, {
    immutable: true,
    // What has a default may be left out of a request.
    defaultNonNullable: false,
    // Every schema under its own name, beside `components`.
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  })
  return COMMENT_HEADER + astToString(nodes)
}

if (import.meta.main) {
  for (const contract of CONTRACTS) {
    await writeFile(typesFileOf(contract), await generateTypes(contract))
  }
}
