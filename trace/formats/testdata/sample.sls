{
  "am.type" : "mapreduce",
  "job.start.ms" : 1000,
  "job.end.ms" : 9500,
  "job.queue.name" : "research",
  "job.id" : "job_1",
  "job.user" : "ann",
  "job.tasks" : [
    {"container.host" : "/rack1/node1", "container.start.ms" : 1500, "container.end.ms" : 4500, "container.priority" : 20, "container.type" : "map"},
    {"container.host" : "/rack1/node2", "container.start.ms" : 2000, "container.end.ms" : 5000, "container.priority" : 20, "container.type" : "map"},
    {"container.host" : "/rack1/node1", "container.start.ms" : 5000, "container.end.ms" : 9500, "container.priority" : 10, "container.type" : "reduce"}
  ]
} {
  "job.start.ms" : 3000,
  "job.count" : 2, "job.user" : "bob", "job.queue.name" : "default",
  "job.tasks" : [ {"count" : 3, "duration.ms" : 2000} ]
}
