// The package ships no types. These are the options that the API reference uses.
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  export type SwaggerUiOptions = {
    spec: object
    plugins: unknown[]
    domNode: HTMLElement | null
    deepLinking: boolean
    docExpansion: 'list' | 'full' | 'none'
    filter: boolean
    showExtensions: boolean
    defaultModelsExpandDepth: number
    persistAuthorization: boolean
    requestInterceptor: <Request extends { url: string; headers: Record<string, string> }>(request: Request) => object
    showMutatedRequest: boolean
  }
  export default function SwaggerUI(options: SwaggerUiOptions): unknown
}
