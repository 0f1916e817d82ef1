# The site in the west: the second node, from the file that the east handed over, and calls that go to the source in the east.
set -e
cd /work
if [ ! -d live ]; then
  mkdir live
  tar -xzf /handed/west.tgz -C live
fi
auroral up --folder live
exec python /app/feed.py 10.77.0.2:18402
