# SPDX-License-Identifier: Apache-2.0
# Constraints, expressions, properties: what jobs demand, what workers are, and how both change.
. "$(dirname "$0")/lib.sh"
serve --property-keys gpu,mem
json "$(allot queue show -o json)" '.settings.property_keys == ["gpu", "mem"] and .settings.max_property_keys == 3'

# submit: all of the constraints, any of the alternatives.
json "$(allot submit --tag t --count 1 --constraint mem=8 --constraint gpu=a100 -o json)" \
  '.job.constraints == [{"gpu": "a100", "mem": "8"}] and .job.constraint_tags == ["c:gpu=a100,mem=8"] and .matching_workers == 0'
json "$(allot submit --tag t --count 1 --constraint mem=high --alternative gpu=h100 --alternative gpu=a%2C100 -o json)" \
  '.job.constraint_tags == ["c:gpu=a%2C100,mem=high", "c:gpu=h100,mem=high"]'
json "$(printf '1\n2\n' | allot submit --tag t --requirements 'TARGET.memory >= 4096' --rank TARGET.memory -o json)" \
  '.job | .requirements == "TARGET.memory >= 4096" and .rank == "TARGET.memory" and .constraints == []'
exits 2 allot submit --tag t --count 1 --constraint gup=a100
has "$err" 'did you mean `gpu`?'
has "$err" 'it declares gpu, mem'
exits 2 allot submit --tag t --count 1 --constraint gpu=a --alternative gpu=b
has "$err" 'twice'
exits 2 allot submit --tag t --count 1 --requirements ''
has "$err" 'empty'
exits 2 allot submit --tag t --count 1 --requirements 'MACHINE.Memory >= 4096 && ('
same "error: requirements: MACHINE.Memory >= 4096 && (
                                                ^ expected an expression here" "$err"
same 3 "$(allot jobs --all -o id | wc -l)"

# A caret's line is the only one of an error that is not the first, and it is indented: text cannot pass for an error.
exits 2 allot submit --tag t --count 1 --requirements $'1 &&\nerror: all is lost ('
hasnt "$err" $'\nerror: all is lost'

# job set.
job=$(allot submit --tag t --count 1 -o id)
json "$(allot job set "$job" --constraint gpu=h100 --requirements 'memory > 1' --rank 3 -o json)" \
  '.constraint_tags == ["c:gpu=h100"] and .requirements == "memory > 1" and .rank == "3"'
json "$(allot job set "$job" --alternative gpu=a100,mem=8 --alternative gpu=h100 -o json)" '.constraint_tags == ["c:gpu=a100,mem=8", "c:gpu=h100"]'
shown=$(allot job "$job")
has "$shown" 'c:gpu=a100,mem=8 or c:gpu=h100'
has "$shown" 'memory > 1'
json "$(allot job set "$job" --no-constraints --no-requirements --no-rank -o json)" '.constraints == [] and .requirements == null and .rank == null'
exits 2 allot job set "$job" --no-rank --rank 1
allot cancel $(allot jobs --all -o id) >/dev/null

# work: only what fits.
allot submit --tag w --payload other --constraint gpu=h100 >/dev/null
fits=$(allot submit --tag w --payload fits --constraint gpu=a100 --requirements 'TARGET.memory >= 4096 && TARGET.gpu == "A100"' --meta size=3 -o id)
large=$(allot submit --tag w --payload large --constraint gpu=a100 --meta size=30 -o id)
exits 2 allot work --tag w --property gup=a100 --idle-exit 1s -- cat
has "$err" 'did you mean `gpu`?'
worker w --property gpu=a100 --attribute memory=8192 --attribute 'zip="01234"' --requirements 'TARGET.size < 10' --rank TARGET.size -- cat
json "$(allot wait "$fits" -o json)" '.state == "done"'
same 2 "$(allot jobs --state active -o id | wc -l)"
id=$(allot workers -o id)
json "$(allot worker "$id" -o json)" '.properties == {"gpu": "a100"} and .attributes == {"memory": 8192, "zip": "01234"}
  and .requirements == "TARGET.size < 10" and .rank == "TARGET.size" and .constraint_tags == ["c:", "c:gpu=a100"]'
shown=$(allot worker "$id")
has "$shown" 'memory=8192, zip="01234"'
has "$shown" 'TARGET.size < 10'

# worker set: matched anew at once, and kept over a lost connection.
json "$(allot worker set "$id" --property gpu=a100 --property mem=high --no-requirements -o json)" \
  '.properties == {"gpu": "a100", "mem": "high"} and .requirements == null and .attributes.memory == 8192 and .tags == ["w"]'
json "$(allot wait "$large" -o json)" '.state == "done"'
exits 2 allot worker set "$id"
exits 2 allot worker set "$id" --tag a --no-tags
exits 2 allot worker set "$id" --attribute GPU=1
exits 4 allot worker set 1 --no-tags
has "$err" '`allot workers` lists them'
exits 2 allot worker set "$id" --slots 5
has "$err" 'allot worker set --help'
exits 4 allot jobs --queue elsewhere
has "$err" '`allot queue list` lists them'
exits 2 allot worker
kill -TERM "$server_pid"
ends "$server_pid"
serve
eventually sh -c "'$ALLOT_BIN' workers -o json | jq -e '.workers[0].properties == {\"gpu\": \"a100\", \"mem\": \"high\"}'"
json "$(allot queue show -o json)" '.settings.property_keys == ["gpu", "mem"]'  # kept with the queue

# Names of properties are strangers' text.
allot worker set "$(allot workers -o id)" --attribute note=$'\e[31mred\e[0m' >/dev/null
shown=$(allot worker "$(allot workers -o id)")
has "$shown" 'red'
hasnt "$shown" $'\e'

# queue set.
json "$(allot queue set --property-keys gpu,mem,region -o json)" '.settings.property_keys == ["gpu", "mem", "region"]'
has "$(allot queue show)" 'gpu, mem, region'
exits 2 allot queue set --property-keys a,b,c,d
has "$err" 'more than the 3'
json "$(allot queue set --property-keys a,b,c,d --max-property-keys 4 -o json)" '.settings.property_keys | length == 4'
exits 2 allot queue set --property-keys gpu,GPU
json "$(allot queue set --no-property-keys -o json)" '.settings.property_keys == []'
exits 2 allot submit --count 1 --constraint gpu=a
has "$err" 'declares none'
json "$(allot queue create video --property-keys zone -o json)" '.settings.property_keys == ["zone"]'
exits 2 allot config check --property-keys a,b,c,d
