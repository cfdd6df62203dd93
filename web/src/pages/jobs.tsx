export function JobsPage(_: { queue: string; id?: string; query?: URLSearchParams }) {
  return <h1>Jobs</h1>;
}
