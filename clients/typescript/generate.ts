// Generates the types in src/contract from the contracts. Run `npm run generate` after each change of a
// contract.

import { writeFile } from 'node:fs/promises'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'

export const CONTRACTS = ['store.v1', 'inference.v1'] as const
export type ContractName = (typeof CONTRACTS)[number]

/** The file of a contract's types. */
export function typesFileOf(contract: ContractName): URL {
  return new URL(`src/contract/${contract}.ts`, import.meta.url)
}

/** The source text of a contract's types. */
export async function generateTypes(contract: ContractName): Promise<string> {
  const source = new URL(`../../openapi/${contract}.yaml`, import.meta.url)
  const nodes = await openapiTS(source, {
    immutable: true,
    // A member with a default may be left out of a request.
    defaultNonNullable: false,
    // Exports every schema under its own name as well as within `components`.
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
