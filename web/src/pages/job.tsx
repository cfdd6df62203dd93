export function JobPage(_: { queue: string; id?: string; query?: URLSearchParams }) {
  return <h1>Job</h1>;
}
