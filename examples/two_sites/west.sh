# The site in the west: calls that go to the source in the east, and the second node, from the file that the east handed over.
set -e
cd /work
python /app/feed.py 10.77.0.2:18402 &
if [ ! -d live ]; then
  mkdir live
  tar -xzf /handed/west.tgz -C live
fi
auroral up --folder live
wait
