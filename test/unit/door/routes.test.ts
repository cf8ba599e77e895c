import { expect } from 'chai'
import { loadContract } from '../../../door/contract.ts'
import { RouteTable } from '../../../door/routes.ts'

const ROUTES = new RouteTable(loadContract('store.v1').operations, '/api/v1')

describe('a path that ends in a slash', () => {
  const meant: Readonly<Record<string, readonly [method: string, path: string]>> = {
    '/api/v1/tables': ['GET', '/api/v1/tables///'],
    '/api/v1/tables/books/query': ['POST', '/api/v1/tables/books/query/'],
  }
  for (const [shorter, [method, path]] of Object.entries(meant)) {
    it(`suggests ${shorter} for ${path}`, () => {
      const nearest = `${method} ${shorter}`

      expect(ROUTES.match(method, path)).to.deep.equal({ kind: 'unknown', nearest })
    })
  }
})
