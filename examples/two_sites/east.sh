# The site in the east: the sources, the client and the first node. What the second node needs is handed over in a file.
set -e
cd /work
if [ -d live ]; then
  auroral up --folder live
else
  auroral up /app/deploy.yaml --diagram /app/sites.py --host 10.77.0.2 --tls --folder live \
    --input east=tcp:127.0.0.1:18401 --input west=tcp:10.77.0.2:18402
fi
if [ ! -e /handed/west.tgz ]; then
  rm -f /handed/packed.tgz
  auroral pack countb --folder live --out /handed/packed.tgz
  mv /handed/packed.tgz /handed/west.tgz
fi
exec python /app/feed.py 127.0.0.1:18401
