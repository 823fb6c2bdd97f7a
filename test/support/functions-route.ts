// Which HTTP function a request of the small Functions host goes to, and with which route
// parameters.
import { type FunctionMetadata, registered } from './functions-core.ts'

interface Match {
  metadata: FunctionMetadata
  params: Record<string, string>
}

export function triggerOf(metadata: FunctionMetadata) {
  const found = Object.entries(metadata.bindings).find(([, { type }]) => /trigger$/i.test(type))
  if (found === undefined) throw new Error(`the function "${metadata.name}" has no trigger`)
  const [name, binding] = found
  return { name, binding }
}

/** The most exact route wins; a method that no function takes is not found, as in Azure. */
export function match(method: string, path: string, routePrefix: string): Match | undefined {
  const fitting = [...registered.functions.values()].flatMap(({ metadata }) => {
    const { binding } = triggerOf(metadata)
    if (binding.type !== 'httpTrigger' || !takes(binding.methods, method)) return []
    const route = [routePrefix, binding.route ?? metadata.name].filter((part) => part !== '')
    const params = paramsOf(route.join('/'), path)
    return params === undefined ? [] : [{ metadata, params }]
  })
  return fitting.sort((a, b) => breadth(a) - breadth(b))[0]
}

function takes(methods: unknown, method: string): boolean {
  return Array.isArray(methods) && methods.some((one) => String(one).toUpperCase() === method)
}

function breadth({ metadata }: Match): number {
  const route = String(triggerOf(metadata).binding.route ?? '')
  return route.includes('{*') ? 2 : route.includes('{') ? 1 : 0
}

function paramsOf(route: string, path: string): Record<string, string> | undefined {
  const pattern = route
    .split('/')
    .map((part) => {
      const [, star, name] = /^\{(\*?)(\w+)\??\}$/.exec(part) ?? []
      if (name === undefined) return part.replace(/[^\w-]/g, '\\$&')
      return star === '*' ? `(?<${name}>.*)` : `(?<${name}>[^/]+)`
    })
    .join('/')
  const found = new RegExp(`^/${pattern}$`, 'i').exec(path)
  return found === null ? undefined : { ...found.groups }
}
